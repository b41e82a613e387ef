"""Training with Ignite as people write it: typical mistakes, each with its right twin."""

from __future__ import annotations

from typing import Any

import torch
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Loss
from torch import nn
from torch.nn import functional as F


def batches(count: int = 6) -> list[Any]:
    return [(x, x[:, :1] * 2 - x[:, 1:2]) for x in torch.randn(count, 8, 4)]


def network() -> Any:
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))


def bad_no_zero_grad() -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def step(engine: Engine, batch: Any) -> Any:
        loss = F.mse_loss(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()  # cause: GS201
        return loss.item()

    Engine(step).run(batches(), max_epochs=2)


def bad_detached_loss() -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def detached(predicted: Any, y: Any) -> Any:
        return F.mse_loss(predicted, y).detach()  # cause: GS303: `detached`

    create_supervised_trainer(model, optimizer, detached).run(batches(), max_epochs=2)


def bad_optimizer_of_the_head() -> None:
    model = network()
    optimizer = torch.optim.SGD(model[3].parameters(), lr=1e-2)  # cause: GS206
    create_supervised_trainer(model, optimizer, F.mse_loss).run(batches(), max_epochs=2)


def bad_outputs_kept_with_their_graph() -> None:
    model, kept = network(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def step(engine: Engine, batch: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        kept.append(loss)  # cause: GS602
        return loss.item()

    Engine(step).run(batches(), max_epochs=2)


def bad_evaluated_in_training_mode() -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    trainer = create_supervised_trainer(model, optimizer, F.mse_loss)

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate(engine: Engine) -> None:
        with torch.no_grad():
            print(sum(F.mse_loss(model(x), y).item() for x, y in batches()))  # cause: GS401

    trainer.run(batches(), max_epochs=3)


def bad_eval_left_on() -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def step(engine: Engine, batch: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        return loss.item()

    trainer = Engine(step)

    @trainer.on(Events.EPOCH_COMPLETED)
    def evaluate(engine: Engine) -> None:
        model.eval()  # cause: GS403
        with torch.no_grad():
            print(sum(F.mse_loss(model(x), y).item() for x, y in batches()))

    trainer.run(batches(), max_epochs=3)


def good_supervised_trainer_with_evaluator() -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    trainer = create_supervised_trainer(model, optimizer, F.mse_loss)
    evaluator = create_supervised_evaluator(model, metrics={"loss": Loss(F.mse_loss)})
    trainer.add_event_handler(Events.EPOCH_COMPLETED, lambda engine: evaluator.run(batches()))
    trainer.run(batches(), max_epochs=3)


def good_accumulation() -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    trainer = create_supervised_trainer(model, optimizer, F.mse_loss, gradient_accumulation_steps=2)
    trainer.run(batches(), max_epochs=2)


def good_own_step() -> None:
    model, kept = network(), []
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def step(engine: Engine, batch: Any) -> Any:
        model.train()
        optimizer.zero_grad()
        loss = F.mse_loss(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        kept.append(loss.item())
        return loss.detach()

    Engine(step).run(batches(), max_epochs=2)
