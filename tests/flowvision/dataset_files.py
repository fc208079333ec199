"""Small data sets in the published formats of their files, with random images."""

from __future__ import annotations

import bz2
import csv
import io
import json
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from PIL import Image

WRITERS: dict[str, Callable[[Path], None]] = {}


def writes(*names: str) -> Callable:
    """Register what writes the files of these data sets into a folder."""

    def register(write: Callable[[Path], None]) -> Callable[[Path], None]:
        WRITERS.update(dict.fromkeys(names, write))
        return write

    return register


def write_image(path: Path, mode: str = "RGB", size: tuple[int, int] = (9, 7)) -> None:
    """Write a random image of this width and height."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = (size[1], size[0], 3) if mode == "RGB" else (size[1], size[0])
    Image.fromarray(np.random.randint(0, 256, shape, np.uint8), mode).save(path)


def write_text(path: Path, text: str) -> None:
    """Write a text file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def write_matlab(path: Path, **variables: Any) -> None:
    """Write a MATLAB file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scipy.io.savemat(path, variables)


def records(**columns: list) -> np.ndarray:
    """Return a MATLAB structure array with one row."""
    rows = np.zeros((1, len(next(iter(columns.values())))), [(name, "O") for name in columns])
    for name, values in columns.items():
        for index, value in enumerate(values):
            rows[0, index][name] = value
    return rows


@writes("Caltech101", "Caltech256")
def _caltech(root: Path) -> None:
    for name in ("BACKGROUND_Google", "Faces", "camera"):
        for number in (1, 2):
            path = root / "caltech101" / "101_ObjectCategories" / name / f"image_{number:04d}.jpg"
            write_image(path)
            outlined = root / "caltech101" / "Annotations" / name.replace("Faces", "Faces_2")
            contour = np.random.rand(2, 4)
            write_matlab(outlined / f"annotation_{number:04d}.mat", obj_contour=contour)
    for number, name in ((1, "001.ak47"), (2, "002.american-flag")):
        folder = root / "caltech256" / "256_ObjectCategories" / name
        write_image(folder / f"{number:03d}_0001.jpg")
        write_image(folder / f"{number:03d}_0002.jpg")


@writes("CelebA")
def _celeba(root: Path) -> None:
    folder, names = root / "celeba", [f"{number:06d}.jpg" for number in range(1, 6)]
    for name in names:
        write_image(folder / "img_align_celeba" / name)

    def table(columns: list[str], values: np.ndarray) -> str:
        heading = [str(len(names)), " ".join(columns)] if columns else []
        rows = [
            f"{name}  {' '.join(map(str, row))}"
            for name, row in zip(names, values.tolist(), strict=True)
        ]
        return "\n".join([*heading, *rows]) + "\n"

    random = np.random.randint
    write_text(folder / "list_eval_partition.txt", table([], np.array([[0, 1, 1, 2, 0]]).T))
    write_text(folder / "identity_CelebA.txt", table([], random(1, 99, (5, 1))))
    write_text(
        folder / "list_attr_celeba.txt", table(["Bald", "Young"], random(0, 2, (5, 2)) * 2 - 1)
    )
    write_text(
        folder / "list_bbox_celeba.txt", table(["x_1", "y_1", "w", "h"], random(0, 99, (5, 4)))
    )
    landmarks = [f"point{number}" for number in range(10)]
    write_text(folder / "list_landmarks_align_celeba.txt", table(landmarks, random(0, 99, (5, 10))))


@writes("Cityscapes")
def _cityscapes(root: Path) -> None:
    for city in ("aachen", "zurich"):
        before = f"{city}_000001_000019"
        write_image(root / "leftImg8bit" / "train" / city / f"{before}_leftImg8bit.png")
        targets = root / "gtFine" / "train" / city
        write_image(targets / f"{before}_gtFine_instanceIds.png", "L")
        write_image(targets / f"{before}_gtFine_labelIds.png", "L")
        write_image(targets / f"{before}_gtFine_color.png")
        write_text(targets / f"{before}_gtFine_polygons.json", json.dumps({"objects": [city]}))


@writes("CIFAR10", "CIFAR100")
def _cifar(root: Path) -> None:
    for name, kind, files in (
        ("cifar-10-batches-py", "label", [f"data_batch_{n}" for n in range(1, 6)]),
        ("cifar-100-python", "fine_label", ["train"]),
    ):
        (root / name).mkdir(parents=True)
        batch = {"data": np.random.randint(0, 256, (2, 3072), np.uint8), f"{kind}s": [3, 1]}
        for file in files:
            (root / name / file).write_bytes(pickle.dumps(batch, protocol=2))
        classes = {f"{kind}_names": [f"class {number}" for number in range(10)]}
        meta = root / name / ("batches.meta" if kind == "label" else "meta")
        meta.write_bytes(pickle.dumps(classes, protocol=2))


@writes("CLEVRClassification")
def _clevr(root: Path) -> None:
    folder, scenes = root / "clevr" / "CLEVR_v1.0", []
    for number in range(3):
        for split in ("train", "test"):
            write_image(folder / "images" / split / f"CLEVR_{split}_{number:06d}.png")
        name = f"CLEVR_train_{number:06d}.png"
        scenes.append({"image_filename": name, "objects": [{}] * (3 + number)})
    write_text(folder / "scenes" / "CLEVR_train_scenes.json", json.dumps({"scenes": scenes}))


@writes("CocoDetection", "CocoCaptions")
def _coco(root: Path) -> None:
    write_image(root / "photos" / "a.png")
    content = {
        "images": [{"id": 9, "file_name": "a.png"}],
        "annotations": [{"image_id": 9, "caption": "noise", "bbox": [0, 0, 1, 1]}],
    }
    write_text(root / "annotations.json", json.dumps(content))


@writes("Country211", "EuroSAT", "RenderedSST2")
def _folders(root: Path) -> None:
    for classes in (
        "country211/train/AD",
        "country211/train/ZW",
        "eurosat/2750/Forest",
        "eurosat/2750/River",
        "rendered-sst2/valid/negative",
        "rendered-sst2/valid/positive",
    ):
        for number in (1, 2):
            write_image(root / classes / f"{number}.png")


@writes("DTD")
def _dtd(root: Path) -> None:
    names = ["banded/banded_0002.jpg", "zigzagged/zigzagged_0001.jpg", "dotted/dotted_0003.jpg"]
    for name in names:
        write_image(root / "dtd" / "dtd" / "images" / name)
    write_text(root / "dtd" / "dtd" / "labels" / "val3.txt", "\n".join(names) + "\n")


@writes("FER2013")
def _fer2013(root: Path) -> None:
    (root / "fer2013").mkdir(parents=True)
    with (root / "fer2013" / "icml_face_data.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["emotion", " Usage", " pixels"])
        for emotion, usage in enumerate(["Training", "PublicTest", "Training", "PrivateTest"]):
            pixels = np.random.randint(0, 256, 48 * 48)
            table.writerow([emotion, usage, " ".join(map(str, pixels))])


@writes("FGVCAircraft")
def _aircraft(root: Path) -> None:
    data = root / "fgvc-aircraft-2013b" / "data"
    for name in ("0034309", "1025794"):
        write_image(data / "images" / f"{name}.jpg")
    for level, listed in (("variant", "variants"), ("manufacturer", "manufacturers")):
        write_text(data / f"{listed}.txt", "A340 300\nBoeing\n")
        write_text(data / f"images_{level}_trainval.txt", "1025794 Boeing\n0034309 A340 300\n")


@writes("ImageFolder", "DatasetFolder")
def _image_folder(root: Path) -> None:
    for name in ("cat/1.png", "dog/2.png"):
        write_image(root / name)


@writes("LSUN", "LSUNClass")
def _lsun(root: Path) -> None:
    lmdb = pytest.importorskip("lmdb")
    for scene, count in (("bedroom", 2), ("tower", 1)):
        folder = str(root / f"{scene}_val_lmdb")
        with lmdb.open(folder) as database, database.begin(write=True) as rows:
            for number in range(count):
                content = io.BytesIO()
                noise = np.random.randint(0, 256, (7, 9, 3), np.uint8)
                Image.fromarray(noise).save(content, "PNG")
                rows.put(f"{scene}{number}".encode(), content.getvalue())


@writes("MNIST", "FashionMNIST")
def _mnist(root: Path) -> None:
    for name in ("MNIST", "FashionMNIST"):
        raw = root / name / "raw"
        raw.mkdir(parents=True)
        for part in ("train", "t10k"):
            pixels, labels = np.random.randint(0, 256, (2, 28, 28), np.uint8), bytes([3, 9])
            header = struct.pack(">IIII", 0x803, *pixels.shape)
            (raw / f"{part}-images-idx3-ubyte").write_bytes(header + pixels.tobytes())
            header = struct.pack(">II", 0x801, len(labels))
            (raw / f"{part}-labels-idx1-ubyte").write_bytes(header + labels)


@writes("Flickr8k", "Flickr30k")
def _flickr(root: Path) -> None:
    for name in ("1_a.jpg", "2_b.jpg"):
        write_image(root / name)
    page = "<p>x</p><table>" + "".join(
        f"<tr><td><a href='x'>http://flickr/{n}/</a></td><td><ul><li>One {n}</li>"
        f"<li> Two {n} </li></ul></td></tr>"
        for n in (2, 1)
    )
    page += "<tr><td>Image Not Found</td><td><ul><li>Nothing</li></ul></td></tr></table>"
    write_text(root / "page.html", page)
    captions = [f"{name}#{n}\tA dog {n}" for name in ("2_b.jpg", "1_a.jpg") for n in range(2)]
    write_text(root / "captions.token", "\n".join(captions) + "\n")


@writes("Flowers102")
def _flowers(root: Path) -> None:
    folder = root / "flowers-102"
    for number in range(1, 5):
        write_image(folder / "jpg" / f"image_{number:05d}.jpg")
    write_matlab(folder / "imagelabels.mat", labels=np.array([[5, 1, 102, 7]], np.uint8))
    splits = {"trnid": [[4, 1]], "valid": [[2]], "tstid": [[3, 2]]}
    write_matlab(folder / "setid.mat", **{name: np.array(rows) for name, rows in splits.items()})


@writes("Food101")
def _food(root: Path) -> None:
    names = {"waffles": ["waffles/7", "waffles/2"], "apple_pie": ["apple_pie/3"]}
    for name in (name for group in names.values() for name in group):
        write_image(root / "food-101" / "images" / f"{name}.jpg")
    write_text(root / "food-101" / "meta" / "train.json", json.dumps(names))


@writes("GTSRB")
def _gtsrb(root: Path) -> None:
    folder = root / "gtsrb" / "GTSRB"
    for number in (0, 14):
        write_image(folder / "Training" / f"{number:05d}" / "00000_00000.ppm")
        write_image(folder / "Final_Test" / "Images" / f"{number:05d}.ppm")
    rows = "Filename;Width;ClassId\n00014.ppm;9;41\n00000.ppm;9;3\n"
    write_text(root / "gtsrb" / "GT-final_test.csv", rows)


@writes("ImageNet")
def _imagenet(root: Path) -> None:
    for wnid in ("n01440764", "n01443537"):
        write_image(root / "val" / wnid / "1.png")


@writes("INaturalist")
def _inaturalist(root: Path) -> None:
    for name in (
        "00000_Animalia_Chordata_Aves_Anseriformes_Anatidae_Anas_acuta",
        "00001_Animalia_Chordata_Aves_Anseriformes_Anatidae_Aix_sponsa",
        "00002_Plantae_Tracheophyta_Liliopsida_Poales_Poaceae_Zea_mays",
    ):
        write_image(root / "2021_train" / name / "x.jpg")
    for name in ("Aves/1", "Plantae/0", "Aves/2"):
        write_image(root / "2018" / name / "x.jpg")
        write_image(root / "2017" / name / "x.jpg")


@writes("Kitti")
def _kitti(root: Path) -> None:
    for number in range(2):
        for part in ("training", "testing"):
            write_image(root / "Kitti" / "raw" / part / "image_2" / f"{number:06d}.png")
        boxes = "Car 0.00 1 -1.57 5 6 7 8 1.5 1.6 3.7 -2.1 1.8 9.2 -1.6\n" * number
        write_text(root / "Kitti" / "raw" / "training" / "label_2" / f"{number:06d}.txt", boxes)


@writes("LFWPeople", "LFWPairs")
def _lfw(root: Path) -> None:
    folder = root / "lfw-py"
    for name, count in (("Ann_Lee", 2), ("Bo_Li", 1), ("Cy_Yu", 1)):
        for number in range(1, count + 1):
            write_image(folder / "lfw_funneled" / name / f"{name}_{number:04d}.jpg")
    write_text(folder / "lfw-names.txt", "Ann_Lee\t2\nBo_Li\t1\nCy_Yu\t1\n")
    write_text(folder / "people.txt", "2\n1\nAnn_Lee\t2\n2\nBo_Li\t1\nCy_Yu\t1\n")
    write_text(folder / "peopleDevTrain.txt", "2\nCy_Yu\t1\nAnn_Lee\t2\n")
    pairs = "Ann_Lee\t1\t2\nBo_Li\t1\tCy_Yu\t1\n"
    write_text(folder / "pairs.txt", f"2\t1\n{pairs}{pairs}")
    write_text(folder / "pairsDevTest.txt", f"1\n{pairs}")


@writes("Omniglot")
def _omniglot(root: Path) -> None:
    for name in ("Greek/character01", "Greek/character02", "Latin/character01"):
        write_image(root / "omniglot-py" / "images_background" / name / "0001_01.png", "L")


@writes("OxfordIIITPet")
def _pets(root: Path) -> None:
    folder = root / "oxford-iiit-pet"
    for name in ("Abyssinian_1", "american_bulldog_10"):
        write_image(folder / "images" / f"{name}.jpg")
        write_image(folder / "annotations" / "trimaps" / f"{name}.png", "L")
    rows = "american_bulldog_10 2 2 1\nAbyssinian_1 1 1 1\n"
    write_text(folder / "annotations" / "trainval.txt", rows)


@writes("PCAM")
def _pcam(root: Path) -> None:
    h5py = pytest.importorskip("h5py")
    (root / "pcam").mkdir()
    pixels = np.random.randint(0, 256, (3, 96, 96, 3), np.uint8)
    targets = np.array([0, 1, 1], np.uint8).reshape(3, 1, 1, 1)
    for part, content in (("x", pixels), ("y", targets)):
        path = root / "pcam" / f"camelyonpatch_level_2_split_valid_{part}.h5"
        with h5py.File(path, "w") as file:
            file[part] = content


@writes("PhotoTour")
def _phototour(root: Path) -> None:
    for number in range(2):
        write_image(root / "liberty" / f"patches{number:04d}.bmp", "L", (128, 128))
    write_text(root / "liberty" / "info.txt", "".join(f"{n // 2} 0\n" for n in range(8)))
    matches = "0 0 0 1 0 0\n2 1 0 5 2 0\n"
    write_text(root / "liberty" / "m50_100000_100000_0.txt", matches)


@writes("Places365")
def _places(root: Path) -> None:
    write_text(root / "categories_places365.txt", "/a/airfield 0\n/b/bakery/shop 1\n")
    write_text(
        root / "places365_train_standard.txt", "/b/bakery/shop/2.jpg 1\n/a/airfield/1.jpg 0\n"
    )
    write_text(root / "places365_test.txt", "Places365_test_1.jpg\n")
    write_image(root / "data_256_standard" / "a" / "airfield" / "1.jpg")
    write_image(root / "data_256_standard" / "b" / "bakery" / "shop" / "2.jpg")
    write_image(root / "test_large" / "Places365_test_1.jpg")


@writes("SBDataset")
def _sbd(root: Path) -> None:
    write_text(root / "train.txt", "2008_000003\n2008_000007\n")
    for name in ("2008_000003", "2008_000007"):
        write_image(root / "img" / f"{name}.jpg")
        outlines = np.zeros((20, 1), object)
        for number in range(20):
            outlines[number, 0] = scipy.sparse.csc_matrix(np.random.rand(7, 9) > 0.7)
        pixels = np.random.randint(0, 21, (7, 9), np.uint8)
        known = records(Segmentation=[pixels], Boundaries=[outlines])
        write_matlab(root / "cls" / f"{name}.mat", GTcls=known)


@writes("SBU")
def _sbu(root: Path) -> None:
    write_image(root / "dataset" / "here.jpg")
    urls = "http://flickr/1/gone.jpg\nhttp://flickr/2/here.jpg\n"
    write_text(root / "dataset" / "SBU_captioned_photo_dataset_urls.txt", urls)
    write_text(root / "dataset" / "SBU_captioned_photo_dataset_captions.txt", "Gone\nA dog \n")


@writes("SEMEION")
def _semeion(root: Path) -> None:
    rows = np.concatenate([np.random.rand(4, 256) > 0.5, np.eye(10)[[3, 0, 9, 3]]], 1)
    np.savetxt(root / "semeion.data", rows, fmt="%.4f")


@writes("StanfordCars")
def _cars(root: Path) -> None:
    folder = root / "stanford_cars"
    models = np.array([["AM General Hummer", "Acura RL"]], object)
    write_matlab(folder / "devkit" / "cars_meta.mat", class_names=models)
    names = ["00001.jpg", "00002.jpg"]
    for split in ("train", "test"):
        for name in names:
            write_image(folder / f"cars_{split}" / name)
    rows = records(**{"class": [2, 1], "fname": names})
    write_matlab(folder / "devkit" / "cars_train_annos.mat", annotations=rows)
    write_matlab(folder / "cars_test_annos_withlabels.mat", annotations=rows)


@writes("STL10")
def _stl10(root: Path) -> None:
    folder = root / "stl10_binary"
    folder.mkdir(parents=True)
    for part in ("train", "test", "unlabeled"):
        np.random.randint(0, 256, (3, 3, 96, 96), np.uint8).tofile(folder / f"{part}_X.bin")
        np.array([10, 1, 4], np.uint8).tofile(folder / f"{part}_y.bin")
    write_text(folder / "class_names.txt", "airplane\nbird\n")
    write_text(folder / "fold_indices.txt", "0 2 \n" * 10)


@writes("SUN397")
def _sun(root: Path) -> None:
    write_text(root / "SUN397" / "ClassName.txt", "/a/abbey\n/c/cabin/indoor\n")
    write_image(root / "SUN397" / "a" / "abbey" / "sun_x.jpg")
    write_image(root / "SUN397" / "c" / "cabin" / "indoor" / "sun_y.jpg")


@writes("SVHN")
def _svhn(root: Path) -> None:
    pixels = np.random.randint(0, 256, (32, 32, 3, 4), np.uint8)
    write_matlab(root / "train_32x32.mat", X=pixels, y=np.array([[1], [10], [9], [3]], np.uint8))


@writes("USPS")
def _usps(root: Path) -> None:
    rows = [
        " ".join([str(digit), *(f"{n}:{v:.3f}" for n, v in enumerate(pixels, 1))])
        for digit, pixels in zip((7, 1, 10), np.random.uniform(-1, 1, (3, 256)), strict=True)
    ]
    (root / "usps.t.bz2").write_bytes(bz2.compress("\n".join(rows).encode()))


@writes("VOCDetection", "VOCSegmentation")
def _voc(root: Path) -> None:
    folder = root / "VOCdevkit" / "VOC2007"
    for kind in ("Main", "Segmentation"):
        write_text(folder / "ImageSets" / kind / "train.txt", "000005\n")
    write_image(folder / "JPEGImages" / "000005.jpg")
    write_image(folder / "SegmentationClass" / "000005.png", "L")
    about = "<size><width>9</width></size><object><name>chair</name></object>"
    write_text(folder / "Annotations" / "000005.xml", f"<annotation>{about}</annotation>")


@writes("WIDERFace")
def _widerface(root: Path) -> None:
    folder = root / "widerface"
    for name in ("train", "val", "test"):
        for number in range(2):
            write_image(folder / f"WIDER_{name}" / "images" / "0--Parade" / f"{number}.jpg")
    faces = "0--Parade/1.jpg\n2\n1 2 3 4 0 0 0 0 0 0 \n5 6 7 8 1 1 1 1 1 1 \n"
    none = "0--Parade/0.jpg\n0\n0 0 0 0 0 0 0 0 0 0 \n"
    write_text(folder / "wider_face_split" / "wider_face_train_bbx_gt.txt", faces + none)
    write_text(folder / "wider_face_split" / "wider_face_val_bbx_gt.txt", faces)
    photos = "0--Parade/0.jpg\n0--Parade/1.jpg\n"
    write_text(folder / "wider_face_split" / "wider_face_test_filelist.txt", photos)
