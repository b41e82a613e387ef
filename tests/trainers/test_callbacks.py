"""The callbacks of gradscope.trainers, with the libraries themselves: a model whose body is cut off from one batch on,
told with the trainer's own count of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

import gradscope

pytestmark = pytest.mark.nightly

EPOCHS = 9  # of 6 batches


class Late(nn.Module):
    """Loses the gradient of its body from the 15th training call on."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = nn.Linear(6, 8), nn.Linear(8, 1)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.body(x).relu()
        self.calls += self.training
        if self.calls > 14:
            hidden = hidden.detach()
        return self.head(hidden)


def rows() -> TensorDataset:
    x = torch.randn(48, 6)
    return TensorDataset(x, x[:, :1] * 2)


def lightning(model: nn.Module, **more: Any) -> Any:
    pytest.importorskip("lightning")
    import lightning as L
    from lightning_programs import QUIET

    from gradscope.trainers.lightning import GradscopeCallback

    class Module(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = model

        def training_step(self, batch: Any, index: int) -> Tensor:
            return F.mse_loss(self.net(batch[0]), batch[1])

        def validation_step(self, batch: Any, index: int) -> None:
            self.log("loss", F.mse_loss(self.net(batch[0]), batch[1]))

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters())

    callback = GradscopeCallback(**more)
    trainer = L.Trainer(**(QUIET | {"max_epochs": EPOCHS, "callbacks": [callback]}))
    trainer.fit(Module(), DataLoader(rows(), 8), DataLoader(rows(), 8))
    return callback


def transformers(model: nn.Module, **more: Any) -> Any:
    pytest.importorskip("transformers")
    from transformers import Trainer
    from transformers_programs import arguments

    from gradscope.trainers.transformers import GradscopeCallback

    class WithLoss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = model

        def forward(self, x: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
            out = self.net(x)
            return F.mse_loss(out, labels), out

    callback = GradscopeCallback(**more)
    data = [{"x": x, "labels": y} for x, y in rows()]
    asked = arguments(num_train_epochs=EPOCHS, per_device_train_batch_size=8)
    Trainer(WithLoss(), asked, train_dataset=data, callbacks=[callback]).train()
    return callback


def ignite(model: nn.Module, **more: Any) -> Any:
    pytest.importorskip("ignite")
    from ignite.engine import create_supervised_trainer

    from gradscope.trainers.ignite import GradscopeHandler

    handler = GradscopeHandler(**more)
    trainer = create_supervised_trainer(model, torch.optim.SGD(model.parameters(), lr=0.01), nn.MSELoss())
    handler.attach(trainer)
    trainer.run(DataLoader(rows(), 8), max_epochs=EPOCHS)
    return handler


def fastai(model: nn.Module, **more: Any) -> Any:
    pytest.importorskip("fastai")
    from fastai_programs import learner

    from gradscope.trainers.fastai import GradscopeCallback

    callback = GradscopeCallback(**more)
    learner(model, cbs=[callback]).fit(EPOCHS)
    return callback


TRAINERS = {
    lightning: "epoch 2, global_step 14",
    transformers: "epoch 2, global_step 14",
    ignite: "epoch 3, iteration 15",
    fastai: "epoch 2, train_iter 14",
}


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))


@pytest.mark.parametrize("trainer", TRAINERS)
def test_a_callback_tells_since_when_as_the_trainer_counts(
    trainer: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[gradscope.Finding] = []
    scope = trainer(Late(), on_finding=told.append).scope
    (found,) = [finding for finding in scope.findings if finding.severity != "note"]
    assert (found.code, str(found.since)) == ("GS301", f"since step 15 ({TRAINERS[trainer]})")
    assert [finding.code for finding in told] == ["GS301"] and scope.faults == []
    printed = capsys.readouterr().err
    name = "handler" if trainer is ignite else "callback"
    assert "GS301" in printed and f"{name}.scope.graph()" in printed
    assert f"keep it in a variable for that: `{name} = Gradscope" in printed


@pytest.mark.parametrize("trainer", TRAINERS)
def test_within_a_watch_a_callback_gives_names_only(trainer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with gradscope.watch() as scope:
        assert trainer(Late()).scope is None
    (found,) = [finding for finding in scope.findings if finding.severity != "note"]
    assert TRAINERS[trainer] in str(found.since)
    assert "GS301" not in capsys.readouterr().err


@pytest.mark.parametrize("trainer", TRAINERS)
def test_nothing_is_said_of_a_correct_training(trainer: Any, capsys: pytest.CaptureFixture[str]) -> None:
    model = Late()
    model.calls = -1000
    scope = trainer(model, fail_on="warning").scope
    assert [finding for finding in scope.findings if finding.severity != "note"] == []
    assert scope.trace.summary["steps"] == 54 and "gradscope" not in capsys.readouterr().err
