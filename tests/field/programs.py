"""The programs of the field test: where they stand in their repositories, and how they are run."""

from __future__ import annotations

from dataclasses import dataclass, field

# Repository → (owner, commit that was tested).
REPOSITORIES = {
    "examples": ("pytorch", "77f55b912142e11fcfdf5b530231fb9c52f181e8"),
    "PyTorch-GAN": ("eriklindernoren", "36d3c77e5ff20ebe0aeefd322326a134a279b93e"),
    "pytorch-tutorial": ("yunjey", "0500d3df5a2a8080ccfccbc00aca0eacc21818db"),
    "nanoGPT": ("karpathy", "3adf61e154c3fe3fca428ad6bc3818b27a3b8291"),
    "minGPT": ("karpathy", "37baab71b9abea1b76ab957409a1cc2fbfba8a26"),
    "pytorch-grad-norm": ("brianlan", "975ee855bde691cd5a102823e2575fcec6469a20"),
    "pytorch-ewc": ("kuc2477", "4afaa6666d6b4f1a91a110caf69e7b77f049dc08"),
    "neural-processes": ("EmilienDupont", "b6f31c36a9f9df6b80d2a7f9ba756855fce0e13b"),
    "makemore": ("karpathy", "988aa59e4d8fefa526d06f3b453ad116258398d4"),
    "pytorch-cifar": ("kuangliu", "49b7aa97b0c12fe0d4054e670403a16b6b834ddd"),
}


@dataclass(frozen=True)
class Program:
    """`folder` is below the folder of the clones; `expected` are the codes that are right to
    find in it; `repair` is (before, after) for one that does not start as it is."""

    name: str
    folder: str
    script: str
    arguments: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    expected: tuple[str, ...] = ()
    repair: tuple[str, str] | None = None
    code: int = 0  # how it ends
    exact: bool = True  # prints the same in each run


def _example(
    name: str, arguments: str = "", script: str = "main.py", folder: str = "", **more: object
) -> Program:
    return Program(name, f"examples/{folder or name}", script, arguments, **more)  # type: ignore[arg-type]


def _gan(name: str, *expected: str, **more: object) -> Program:
    folder = f"PyTorch-GAN/implementations/{name}"
    arguments = "--n_epochs 1 --batch_size 32 --n_cpu 0"
    settings = {"FIELD_TRAIN": "256"}
    return Program(f"gan/{name}", folder, f"{name}.py", arguments, settings, expected, **more)  # type: ignore[arg-type]


def _tutorial(name: str, folder: str, train: int = 512, *expected: str) -> Program:
    settings = {"FIELD_TRAIN": str(train), "FIELD_TEST": str(min(train, 100))}
    return Program(
        f"tutorial/{name}", f"pytorch-tutorial/tutorials/{folder}", "main.py", "", settings, expected
    )


_WORDS = "--data {folder} --epochs 1 --batch_size 8 --emsize 64 --nhid 64 --model"
_NANOGPT = (
    "config/train_shakespeare_char.py --device=cpu --compile=False --eval_iters=2 --block_size=64"
    " --batch_size=4 --n_layer=2 --n_head=2 --n_embd=64 --max_iters=20 --gradient_accumulation_steps=2"
)
_ADDER = "--trainer.max_iters=60 --trainer.num_workers=0 --trainer.batch_size=16 --model.model_type=gpt-nano"
_CHARACTERS = (
    "--trainer.max_iters=30 --trainer.num_workers=0 --trainer.batch_size=8 --model.model_type=gpt-nano"
    " --data.block_size=64"
)
_SUPER_RESOLUTION = "--upscale_factor 3 --batchSize 4 --testBatchSize 4 --nEpochs 1 --lr 0.001 --threads 0"

CORRECT_GANS = (
    "gan",
    "dcgan",
    "cgan",
    "aae",
    "ebgan",
    "lsgan",
    "wgan",
    "wgan_gp",
    "wgan_div",
    "relativistic_gan",
)

PROGRAMS = [
    Program("gradnorm", "pytorch-grad-norm", "train.py", "-it 6"),
    _example("mnist", "--epochs 1 --no-accel"),
    _example("mnist_rnn", "--epochs 1"),
    _example("mnist_forward_forward", "--epochs 5 --no_accel --train_size 256 --test_size 256"),
    _example("mnist_hogwild", "--epochs 1 --num-processes 2", exact=False),
    _example(
        "dcgan",
        "--dataset fake --dry-run --imageSize 64 --batchSize 16 --workers 0",
        settings={"FIELD_FAKE": "64"},
    ),
    _example("vae", "--epochs 1"),
    _example("siamese_network", "--epochs 1 --dry-run"),
    _example("regression"),
    _example(
        "time_sequence_prediction",
        "--steps 2",
        "train.py",
        settings={"TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"},
    ),
    _example("language_model_lstm", f"{_WORDS} LSTM", folder="word_language_model"),
    _example("language_model_transformer", f"{_WORDS} Transformer", folder="word_language_model"),
    _example("gcn", "--epochs 20"),
    _example("gat", "--epochs 3"),
    _example("imagenet", "--dummy --epochs 1 -b 4 -j 0"),
    _example("super_resolution", _SUPER_RESOLUTION),
    _example(
        "reinforce", "", "reinforce.py", "reinforcement_learning", settings={"FIELD_STOP_AT": "Episode 20"}
    ),
    _example(
        "actor_critic",
        "",
        "actor_critic.py",
        "reinforcement_learning",
        settings={"FIELD_STOP_AT": "Episode 20"},
    ),
    _example("ddp_single", "", "single_cpu.py", "distributed/ddp-tutorial-series", expected=("GS704",)),
    Program("nanogpt", "nanoGPT", "train.py", _NANOGPT),
    Program("mingpt/adder", "minGPT/projects/adder", "adder.py", _ADDER),
    Program("mingpt/chargpt", "minGPT/projects/chargpt", "chargpt.py", _CHARACTERS),
    Program(
        "cifar",
        "pytorch-cifar",
        "main.py",
        settings={"FIELD_TRAIN": "16", "FIELD_TEST": "8", "FIELD_STOP_AT": "Epoch: 5"},
    ),
    *(
        _gan(name)
        for name in [
            "gan",
            "dcgan",
            "cgan",
            "aae",
            "ebgan",
            "lsgan",
            "wgan",
            "wgan_gp",
            "wgan_div",
            "relativistic_gan",
        ]
    ),
    *(_gan(name, "GS702") for name in ("acgan", "sgan", "infogan")),
    _gan("softmax_gan", "GS104", "GS108", code=1),
    _gan("began", repair=(".data[0]", ".item()")),
    _gan("bgan", repair=("mnist_loader", "dataloader")),
    _gan("dragan", "GS715", repair=("mnist_loader", "dataloader")),
    Program(
        "ewc",
        "pytorch-ewc",
        "main.py",
        "--consolidate --task-number 2 --epochs-per-task 1 --hidden-size 32 --batch-size 32 --test-size 64 "
        "--fisher-estimation-sample-size 64 --eval-log-interval 4 --loss-log-interval 4 --no-gpus",
        {"FIELD_TRAIN": "256", "FIELD_TEST": "128"},
        ("GS402",),
    ),
    Program(
        "neural_process",
        "neural-processes",
        "main_experiment.py",
        "small.json",
        {"FIELD_TRAIN": "128"},
        exact=False,
    ),
    Program(
        "makemore",
        "makemore",
        "makemore.py",
        "--max-steps 60 --n-layer 2 --n-head 2 --n-embd 16 --n-embd2 16 -b 8 -n 0 --device cpu",
        repair=(
            "from torch.utils.tensorboard import SummaryWriter",
            "from unittest.mock import MagicMock as SummaryWriter",
        ),
    ),
    _tutorial("linear", "01-basics/linear_regression"),
    _tutorial("logistic", "01-basics/logistic_regression"),
    _tutorial("feedforward", "01-basics/feedforward_neural_network"),
    _tutorial("convolutional", "02-intermediate/convolutional_neural_network"),
    _tutorial("recurrent", "02-intermediate/recurrent_neural_network", 500),
    _tutorial("bidirectional", "02-intermediate/bidirectional_recurrent_neural_network", 500),
    _tutorial("resnet", "02-intermediate/deep_residual_network", 16),
    _tutorial("language_model", "02-intermediate/language_model"),
    _tutorial("gan", "03-advanced/generative_adversarial_network", 100),
    _tutorial("vae", "03-advanced/variational_autoencoder"),
]
