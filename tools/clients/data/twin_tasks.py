"""Tasks for the models of the repository: batches of noise, and losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

random = np.random.default_rng(0)


def images(size: int = 64, channels: int = 3) -> tuple[np.ndarray, ...]:
    """A batch of images of noise, and their labels.

    In double precision: normalizing over few numbers enlarges what rounding does.
    """
    return random.standard_normal((2, channels, size, size)), random.integers(0, 10, 2)


def large_images() -> tuple[np.ndarray, ...]:
    """Images of the size that models with a fixed last pooling take."""
    return images(224)


def huge_images() -> tuple[np.ndarray, ...]:
    """Images of the size that Inception takes."""
    return images(299)


def digits() -> tuple[np.ndarray, ...]:
    """Images of one channel, and their labels."""
    return images(28, 1)


def videos() -> tuple[np.ndarray, ...]:
    """Two videos of two pictures each, and their labels."""
    return random.standard_normal((2, 2, 3, 224, 224)), random.integers(0, 10, 2)


def masked(channels: int = 3, size: int = 64, share: int = 1) -> Callable[[], tuple]:
    """Images and a map of zeros and ones for each, of a share of the size."""

    def make() -> tuple[np.ndarray, ...]:
        shape = (2, 1, size // share, size // share)
        return images(size, channels)[0], random.integers(0, 2, shape).astype(np.float64)

    return make


def pairs(*shapes: tuple[int, ...]) -> Callable[[], tuple]:
    """Arrays of noise, for networks that learn against each other."""
    return lambda: tuple(random.standard_normal(shape) for shape in shapes)


def sounds(length: int) -> Callable[[], tuple]:
    """Pieces of sound, and their speakers."""
    return lambda: (random.standard_normal((4, length)), random.integers(0, 10, 4))


def letters() -> tuple[np.ndarray, ...]:
    """A name as one-hot letters, and its language."""
    return np.eye(57, dtype=np.float32)[random.integers(0, 57, 6)][:, None], random.integers(
        0, 3, 1
    )


def words() -> tuple[np.ndarray, ...]:
    """Sentences as numbers of words; models learn to go on with them."""
    sentences = random.integers(0, 96, (4, 16))
    return sentences, sentences


def labelled_words() -> tuple[np.ndarray, ...]:
    """Sentences as numbers of words, and a class of each."""
    return random.integers(3, 96, (4, 16)), random.integers(0, 2, 4)


def classify(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss of a classifier, whose other outputs are left out."""
    outputs = model(inputs)
    scores = outputs[0] if isinstance(outputs, tuple) else outputs
    return library.nn.functional.cross_entropy(scores, labels)


def read_letters(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss of a network that reads one letter after another."""
    hidden, scores = model.initHidden(), None
    for letter in inputs:
        scores, hidden = model(letter, hidden)
    return library.nn.functional.nll_loss(scores, labels)


def language(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss that a language model computes."""
    return model(inputs, labels=labels)[0]


def segment(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss of a map of scores."""
    return library.nn.BCEWithLogitsLoss()(model(inputs), labels)


def segment_by_shares(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss of a map of probabilities."""
    return library.nn.BCELoss()(model(inputs), labels)


def segment_by_overlap(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss of FaceSeg: how little a map of scores overlaps with the true one."""
    shares = library.sigmoid(model(inputs).reshape(-1))
    common = (shares * labels.reshape(-1)).sum()
    return -library.log((common + 1e-15) / (shares.sum() + labels.sum() - common + 1e-15))


def count(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss of a map of densities."""
    return library.nn.MSELoss(reduction="sum")(model(inputs), labels) / labels.numel()


def recognize(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss of a classifier of videos."""
    return library.nn.functional.cross_entropy(model(1, labels, inputs, return_loss=True), labels)


def deceive(library: Any, model: Any, noise: Any, real: Any) -> Any:
    """The losses of a generator and of what tells its images from real ones, as shares."""
    forged, ones = model[1](model[0](noise)), library.ones_like
    loss, true = library.nn.BCELoss(), model[1](real)
    return loss(forged, 0.5 * ones(forged)) + loss(true, ones(true))


def deceive_in_patches(library: Any, model: Any, noise: Any, real: Any) -> Any:
    """The losses of two such networks whose scores are of patches."""
    forged, true = model[1](model[0](noise)), model[1](real)
    return ((forged - 0.5) ** 2).mean() + ((true - 1) ** 2).mean()


def translate_images(library: Any, model: Any, sketches: Any, real: Any) -> Any:
    """The losses of pix2pix: patches of a sketch beside a picture, and the distance of pictures."""
    loss, made = library.nn.BCEWithLogitsLoss(), model[0](sketches)
    forged = model[1](library.cat([sketches, made], 1))
    true = model[1](library.cat([sketches, real], 1))
    ones = library.ones_like
    return (
        loss(forged, 0.5 * ones(forged)) + loss(true, ones(true)) + 100 * (real - made).abs().mean()
    )


def distill(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss of a pupil that learns from a teacher's scores, and the teacher's own."""
    functions, teacher = library.nn.functional, model[0](inputs)
    hint = functions.softmax(teacher.detach() / 7, dim=1)
    pupil = model[1](inputs)
    return (
        library.nn.KLDivLoss()(functions.log_softmax(pupil / 7, dim=1), hint) * (49 * 2 * 0.3)
        + functions.cross_entropy(pupil, labels) * 0.7
        + functions.cross_entropy(teacher, labels)
    )


def name_speaker(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss of SincNet's filters under a last layer."""
    return library.nn.functional.cross_entropy(model[1](model[0](inputs)), labels)


def name_speaker_with_margin(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss of a network for sounds, with an additive margin."""
    return model[1](model[0](inputs[:, None]), labels)


def transcribe(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss of a network that writes down words."""
    scores = model(inputs).transpose(1, 2).transpose(0, 1)
    lengths = [library.tensor([size] * len(inputs)) for size in (scores.shape[0], labels.shape[1])]
    return library.nn.CTCLoss()(scores, labels, *lengths)


def translate(library: Any, model: Any, source: Any, target: Any) -> Any:
    """The loss of a translation that is given word by word, with attention."""
    encoder, decoder = model
    hidden, outputs = encoder.init_Hidden(), []
    for word in source:
        output, hidden = encoder(word, hidden)
        outputs.append(output[0])
    outputs += [library.zeros((1, 256))] * (10 - len(outputs))
    loss, word = 0, library.tensor([[0]])
    for after in target:
        scores, hidden, _ = decoder(word, hidden, library.cat(outputs, dim=0))
        loss = loss + library.nn.functional.nll_loss(scores, after)
        word = after.unsqueeze(0)
    return loss


def go_on(library: Any, model: Any, source: Any, target: Any) -> Any:
    """The loss of a Transformer that continues sequences; words come first in both."""
    scores = model(source, target[:-1])
    return library.nn.functional.cross_entropy(
        scores.reshape(-1, scores.shape[-1]), target[1:].reshape(-1)
    )


def judge(library: Any, model: Any, inputs: Any, labels: Any) -> Any:
    """The loss of a classifier of sentences on top of what the first word has become."""
    hidden = model[0](inputs, library.ones_like(inputs))
    first = hidden.last_hidden_state if hasattr(hidden, "last_hidden_state") else hidden[0]
    return library.nn.functional.cross_entropy(model[1](first[:, 0]), labels)
