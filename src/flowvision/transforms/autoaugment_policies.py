"""The learned policies of AutoAugment.

Source: the appendix of Cubuk et al., https://arxiv.org/abs/1805.09501. Each line is a pair of
operations with their probabilities and the numbers of their magnitudes (0 where it has none).
"""

from __future__ import annotations

Operation = tuple[str, float, int]


def _pairs(text: str) -> list[list[Operation]]:
    pairs = []
    for line in text.strip().splitlines():
        fields = [operation.split() for operation in line.split(",")]
        pairs.append([(name, float(prob), int(level)) for name, prob, level in fields])
    return pairs


POLICIES: dict[str, list[list[Operation]]] = {
    "imagenet": _pairs("""
        Posterize 0.4 8, Rotate 0.6 9
        Solarize 0.6 5, AutoContrast 0.6 0
        Equalize 0.8 0, Equalize 0.6 0
        Posterize 0.6 7, Posterize 0.6 6
        Equalize 0.4 0, Solarize 0.2 4
        Equalize 0.4 0, Rotate 0.8 8
        Solarize 0.6 3, Equalize 0.6 0
        Posterize 0.8 5, Equalize 1 0
        Rotate 0.2 3, Solarize 0.6 8
        Equalize 0.6 0, Posterize 0.4 6
        Rotate 0.8 8, Color 0.4 0
        Rotate 0.4 9, Equalize 0.6 0
        Equalize 0 0, Equalize 0.8 0
        Invert 0.6 0, Equalize 1 0
        Color 0.6 4, Contrast 1 8
        Rotate 0.8 8, Color 1 2
        Color 0.8 8, Solarize 0.8 7
        Sharpness 0.4 7, Invert 0.6 0
        ShearX 0.6 5, Equalize 1 0
        Color 0.4 0, Equalize 0.6 0
        Equalize 0.4 0, Solarize 0.2 4
        Solarize 0.6 5, AutoContrast 0.6 0
        Invert 0.6 0, Equalize 1 0
        Color 0.6 4, Contrast 1 8
        Equalize 0.8 0, Equalize 0.6 0
    """),
    "cifar10": _pairs("""
        Invert 0.1 0, Contrast 0.2 6
        Rotate 0.7 2, TranslateX 0.3 9
        Sharpness 0.8 1, Sharpness 0.9 3
        ShearY 0.5 8, TranslateY 0.7 9
        AutoContrast 0.5 0, Equalize 0.9 0
        ShearY 0.2 7, Posterize 0.3 7
        Color 0.4 3, Brightness 0.6 7
        Sharpness 0.3 9, Brightness 0.7 9
        Equalize 0.6 0, Equalize 0.5 0
        Contrast 0.6 7, Sharpness 0.6 5
        Color 0.7 7, TranslateX 0.5 8
        Equalize 0.3 0, AutoContrast 0.4 0
        TranslateY 0.4 3, Sharpness 0.2 6
        Brightness 0.9 6, Color 0.2 8
        Solarize 0.5 2, Invert 0 0
        Equalize 0.2 0, AutoContrast 0.6 0
        Equalize 0.2 0, Equalize 0.6 0
        Color 0.9 9, Equalize 0.6 0
        AutoContrast 0.8 0, Solarize 0.2 8
        Brightness 0.1 3, Color 0.7 0
        Solarize 0.4 5, AutoContrast 0.9 0
        TranslateY 0.9 9, TranslateY 0.7 9
        AutoContrast 0.9 0, Solarize 0.8 3
        Equalize 0.8 0, Invert 0.1 0
        TranslateY 0.7 9, AutoContrast 0.9 0
    """),
    "svhn": _pairs("""
        ShearX 0.9 4, Invert 0.2 0
        ShearY 0.9 8, Invert 0.7 0
        Equalize 0.6 0, Solarize 0.6 6
        Invert 0.9 0, Equalize 0.6 0
        Equalize 0.6 0, Rotate 0.9 3
        ShearX 0.9 4, AutoContrast 0.8 0
        ShearY 0.9 8, Invert 0.4 0
        ShearY 0.9 5, Solarize 0.2 6
        Invert 0.9 0, AutoContrast 0.8 0
        Equalize 0.6 0, Rotate 0.9 3
        ShearX 0.9 4, Solarize 0.3 3
        ShearY 0.8 8, Invert 0.7 0
        Equalize 0.9 0, TranslateY 0.6 6
        Invert 0.9 0, Equalize 0.6 0
        Contrast 0.3 3, Rotate 0.8 4
        Invert 0.8 0, TranslateY 0 2
        ShearY 0.7 6, Solarize 0.4 8
        Invert 0.6 0, Rotate 0.8 4
        ShearY 0.3 7, TranslateX 0.9 3
        ShearX 0.1 6, Invert 0.6 0
        Solarize 0.7 2, TranslateY 0.6 7
        ShearY 0.8 4, Invert 0.8 0
        ShearX 0.7 9, TranslateY 0.8 3
        ShearY 0.8 5, AutoContrast 0.7 0
        ShearX 0.7 2, Invert 0.1 0
    """),
}
