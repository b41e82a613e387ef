"""Puts small generated data where the programs look for theirs; nothing is downloaded."""

from __future__ import annotations

import pickle
import random
import shutil
import tarfile
from pathlib import Path

import numpy
import torch
from PIL import Image

WORDS = 120


def prepare(clones: Path, folder: Path) -> None:
    """Data below `folder`, and in those clones whose programs know one place only."""
    random.seed(0)
    text = sentences(3000)
    for name, lines in (("train", 900), ("valid", 120), ("test", 120)):
        write(folder / f"{name}.txt", "\n".join(text[:lines]))
    write(
        clones / "pytorch-tutorial/tutorials/02-intermediate/language_model/data/train.txt",
        "\n".join(text[:150]),
    )
    write(clones / "minGPT/projects/chargpt/input.txt", "\n".join(["O God, O God!", *text[:900]]))
    characters(clones / "nanoGPT/data/shakespeare_char")
    citations(folder / "cora")
    with tarfile.open(folder / "cora.tgz", "w:gz") as archive:
        archive.add(folder / "cora", arcname="cora")
    shutil.copytree(folder / "cora", clones / "examples/gat/cora", dirs_exist_ok=True)
    photographs(clones / "examples/super_resolution/dataset/BSDS300/images")
    waves(clones / "examples/time_sequence_prediction/traindata.pt")
    write(
        clones / "neural-processes/small.json",
        '{"img_size": [1, 12, 12], "batch_size": 16, "r_dim": 16, "h_dim": 16, "z_dim": 16, "num_context_range": '
        '[3, 30], "num_extra_target_range": [0, 30], "lr": 4e-4, "epochs": 2, "dataset": "mnist"}',
    )
    write(
        clones / "examples/distributed/ddp-tutorial-series/single_cpu.py",
        'import single_gpu\n\nsingle_gpu.main("cpu", 2, 1, 32)\n',  # its own main() wants a GPU
    )


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf8")


def sentences(count: int) -> list[str]:
    words = ["".join(random.choices("etaoinshrdlu", k=random.randint(2, 8))) for _ in range(WORDS)]
    return [" ".join(random.choices(words, k=random.randint(6, 16))) for _ in range(count)]


def characters(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    draw = numpy.random.default_rng(0)
    for name, count in (("train", 20000), ("val", 4000)):
        draw.integers(0, 65, count).astype(numpy.uint16).tofile(folder / f"{name}.bin")
    letters = [chr(33 + i) for i in range(65)]
    table = {
        "vocab_size": 65,
        "itos": dict(enumerate(letters)),
        "stoi": {c: i for i, c in enumerate(letters)},
    }
    (folder / "meta.pkl").write_bytes(pickle.dumps(table))


def citations(folder: Path, papers: int = 1800, terms: int = 200, classes: int = 7) -> None:
    """Files as those of Cora: papers with their terms and class, and who cites whom."""
    draw = numpy.random.default_rng(0)
    kind = draw.integers(0, classes, papers)
    usual = draw.random((classes, terms)) < 0.1
    has = (draw.random((papers, terms)) < 0.02) | (usual[kind] & (draw.random((papers, terms)) < 0.5))
    number = draw.permutation(papers) + 1000
    rows = [
        "\t".join([str(number[i]), *map(str, has[i].astype(int)), f"Class{kind[i]}"]) for i in range(papers)
    ]
    write(folder / "cora.content", "\n".join(rows) + "\n")
    pairs = []
    for _ in range(5000):
        one = draw.integers(papers)
        alike = numpy.flatnonzero(kind == kind[one])
        pairs.append((one, draw.choice(alike) if draw.random() < 0.8 else draw.integers(papers)))
    write(folder / "cora.cites", "".join(f"{number[a]}\t{number[b]}\n" for a, b in pairs))


def photographs(folder: Path) -> None:
    draw = numpy.random.default_rng(0)
    for part, count in (("train", 8), ("test", 4)):
        (folder / part).mkdir(parents=True, exist_ok=True)
        for index in range(count):
            coarse = Image.fromarray(draw.integers(0, 255, (20, 20, 3)).astype("uint8"))
            coarse.resize((320, 320), Image.Resampling.BICUBIC).save(folder / part / f"{index}.jpg")


def waves(path: Path, count: int = 30, length: int = 150) -> None:
    starts = numpy.random.default_rng(0).integers(-80, 80, (count, 1))
    torch.save(numpy.sin((numpy.arange(length) + starts) / 20.0), path)
