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


class Pair(nn.Module):
    """A correct model that others differ from in one thing."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(4, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, x: Any) -> Any:
        return self.head(F.relu(self.body(x)))


def supervised(model: nn.Module, loss: Any = F.mse_loss, data: Any = None, epochs: int = 3) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    create_supervised_trainer(model, optimizer, loss).run(data or batches(), max_epochs=epochs)


def bad_detached_hidden() -> None:
    class Cut(Pair):
        def forward(self, x: Any) -> Any:
            return self.head(F.relu(self.body(x)).detach())  # cause: GS301

    supervised(Cut())


def good_hidden() -> None:
    supervised(Pair())


def bad_cleared_after_backward() -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def step(engine: Engine, batch: Any) -> Any:
        loss = F.mse_loss(model(batch[0]), batch[1])
        loss.backward()
        optimizer.zero_grad()  # cause: GS202
        optimizer.step()
        return loss.item()

    Engine(step).run(batches(), max_epochs=2)


def good_cleared_after_the_step() -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def step(engine: Engine, batch: Any) -> Any:
        loss = F.mse_loss(model(batch[0]), batch[1])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    Engine(step).run(batches(), max_epochs=2)


def bad_never_stepped() -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)  # cause: GS205

    def step(engine: Engine, batch: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(batch[0]), batch[1])
        loss.backward()
        return loss.item()

    Engine(step).run(batches(), max_epochs=2)


def good_stepped_by_a_handler() -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def step(engine: Engine, batch: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(model(batch[0]), batch[1])
        loss.backward()
        return loss.item()

    trainer = Engine(step)
    trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: optimizer.step())
    trainer.run(batches(), max_epochs=2)


def bad_target_of_another_shape() -> None:
    def loss(predicted: Any, y: Any) -> Any:
        return (predicted - y.squeeze(1)).square().mean()  # cause: GS703

    supervised(network(), loss)


def good_target_of_the_same_shape() -> None:
    def loss(predicted: Any, y: Any) -> Any:
        return (predicted.squeeze(1) - y.squeeze(1)).square().mean()

    supervised(network(), loss)


def bad_softmax_before_cross_entropy() -> None:
    def loss(predicted: Any, y: Any) -> Any:
        return F.cross_entropy(predicted.softmax(1), y)  # cause: GS702

    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    supervised(model, loss, [(x, (x.sum(1) > 0).long()) for x, _ in batches()])


def good_cross_entropy() -> None:
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    supervised(model, F.cross_entropy, [(x, (x.sum(1) > 0).long()) for x, _ in batches()])


def bad_layers_in_a_plain_list() -> None:
    class Listed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(4, 4) for _ in range(2)]  # cause: GS214
            self.head = nn.Linear(4, 1)

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = F.relu(layer(x))
            return self.head(x)

    supervised(Listed())


def good_layers_in_a_module_list() -> None:
    class Listed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))
            self.head = nn.Linear(4, 1)

        def forward(self, x: Any) -> Any:
            for layer in self.layers:
                x = F.relu(layer(x))
            return self.head(x)

    supervised(Listed())


def good_loss_detached_for_the_output_only() -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    trainer = create_supervised_trainer(
        model, optimizer, F.mse_loss, output_transform=lambda x, y, predicted, loss: loss.detach()
    )
    trainer.run(batches(), max_epochs=2)


def good_frozen_body_thawed_in_the_third_epoch() -> None:
    model = Pair()
    model.body.requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    trainer = create_supervised_trainer(model, optimizer, F.mse_loss)
    trainer.add_event_handler(Events.EPOCH_STARTED(once=3), lambda engine: model.body.requires_grad_(True))
    trainer.run(batches(), max_epochs=4)


def good_gan() -> None:
    maker = nn.Linear(2, 4)
    judge = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(), nn.Linear(8, 1))
    of_maker = torch.optim.Adam(maker.parameters(), lr=1e-3)
    of_judge = torch.optim.Adam(judge.parameters(), lr=1e-3)

    def step(engine: Engine, batch: Any) -> Any:
        real, made = torch.ones(8, 1), torch.zeros(8, 1)
        judge.zero_grad()
        F.binary_cross_entropy_with_logits(judge(batch[0]), real).backward()
        fake = maker(torch.randn(8, 2))
        F.binary_cross_entropy_with_logits(judge(fake.detach()), made).backward()
        of_judge.step()
        maker.zero_grad()
        loss = F.binary_cross_entropy_with_logits(judge(fake), real)
        loss.backward()
        of_maker.step()
        return loss.item()

    Engine(step).run(batches(), max_epochs=2)
