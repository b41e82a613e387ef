"""Programs with fastai as people write them: typical mistakes, each with its right twin, and what fastai itself does
around a correct one."""

from __future__ import annotations

from typing import Any

import torch
from fastai.basics import (
    Callback,
    DataLoader,
    DataLoaders,
    Learner,
    Lookahead,
    OptimWrapper,
    RAdam,
    accuracy,
    partial,
)
from fastai.callback import schedule  # noqa: F401  # gives `fit_one_cycle`
from fastai.callback.progress import ProgressCallback
from fastai.callback.training import GradientAccumulation, GradientClip
from fastai.losses import CrossEntropyLossFlat
from torch import Tensor, nn
from torch.nn import functional as F


def data(classes: bool = False) -> DataLoaders:
    x = torch.randn(64, 6)
    y = (x.sum(1) > 0).long() if classes else x[:, :1] * 2 - x[:, 1:2]
    rows = list(zip(x, y, strict=True))
    return DataLoaders(DataLoader(rows[:48], bs=8, shuffle=True), DataLoader(rows[48:], bs=8))


def learner(model: nn.Module, loss: Any = None, classes: bool = False, **more: Any) -> Learner:
    learn = Learner(
        data(classes), model, loss_func=loss or (F.cross_entropy if classes else F.mse_loss), **more
    )
    learn.logger = lambda *_: None
    learn.remove_cb(ProgressCallback)
    return learn


def net(out: int = 1) -> nn.Module:
    return nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, out))


class Model(nn.Module):
    """A correct model that others differ from in one thing."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(6, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(F.relu(self.body(x)))


def halves(model: Model) -> list[list[nn.Parameter]]:
    return [list(model.body.parameters()), list(model.head.parameters())]


def bad_detached_hidden() -> None:
    class Cut(Model):
        def forward(self, x: Tensor) -> Tensor:
            return self.head(F.relu(self.body(x)).detach())  # cause: GS301

    learner(Cut()).fit(3)


def good_hidden() -> None:
    learner(Model()).fit(3)


def bad_loss_of_its_number() -> None:
    def loss(pred: Tensor, y: Tensor) -> Tensor:
        return torch.tensor(F.mse_loss(pred, y).item(), requires_grad=True)  # cause: GS304

    learner(net(), loss).fit(3)


def good_loss_of_ones_own() -> None:
    def loss(pred: Tensor, y: Tensor) -> Tensor:
        return F.mse_loss(pred, y) + 0.1 * F.l1_loss(pred, y)

    learner(net(), loss).fit(3)


def bad_softmax_before_cross_entropy() -> None:
    model = nn.Sequential(net(2), nn.Softmax(dim=1))
    learn = learner(model, classes=True)
    learn.fit(3)  # cause: GS702


def good_classes() -> None:
    learner(net(2), CrossEntropyLossFlat(), classes=True, metrics=accuracy).fit_one_cycle(3, 1e-2)


def bad_never_cleared() -> None:
    class Keep(Callback):
        def before_batch(self) -> None:
            self.learn.opt.zero_grad = lambda: None

    learn = learner(net(), cbs=[Keep()])
    learn.fit(3)  # cause: GS201


def good_accumulation_and_clip() -> None:
    learner(net(), cbs=[GradientAccumulation(16), GradientClip(1.0)]).fit(3)


def bad_losses_kept() -> None:
    class History(Callback):
        def before_fit(self) -> None:
            self.losses: list[Tensor] = []

        def after_loss(self) -> None:
            self.losses.append(self.learn.loss_grad)

    learn = learner(net(), cbs=[History()])
    learn.fit(3)  # cause: GS602


def good_losses_kept_detached() -> None:
    class History(Callback):
        def before_fit(self) -> None:
            self.losses: list[Tensor] = []

        def after_loss(self) -> None:
            self.losses.append(self.learn.loss_grad.detach())

    learner(net(), cbs=[History()]).fit(3)


def bad_splitter_that_leaves_out_the_body() -> None:
    learn = learner(Model(), splitter=lambda model: [list(model.head.parameters())])
    learn.fit(3)  # cause: GS206


def good_splitter_with_two_rates() -> None:
    learner(Model(), splitter=halves).fit(3, slice(1e-4, 1e-2))


def bad_eval_left_on_by_a_callback() -> None:
    class Look(Callback):
        def before_batch(self) -> None:
            self.learn.model.eval()  # cause: GS403

    learner(net(), cbs=[Look()]).fit(3)


def good_looked_at_in_eval_mode() -> None:
    class Look(Callback):
        def after_epoch(self) -> None:
            self.learn.model.eval()
            with torch.no_grad():
                self.learn.model(torch.randn(4, 6))

    learner(net(), cbs=[Look()]).fit(3)


def bad_looked_at_in_eval_mode_before_each_batch() -> None:
    class Look(Callback):
        def before_batch(self) -> None:
            if self.training:
                self.model.eval()  # cause: GS403: `self.model.train()` at the end of
                with torch.no_grad():
                    self.model(torch.randn(4, 6))

    learner(net(), cbs=[Look()]).fit(3)


def bad_target_of_another_shape() -> None:
    def loss(pred: Tensor, y: Tensor) -> Tensor:
        return (pred - y.squeeze(1)).square().mean()  # cause: GS703

    learner(net(), loss).fit(3)


def good_target_of_the_same_shape() -> None:
    def loss(pred: Tensor, y: Tensor) -> Tensor:
        return (pred.squeeze(1) - y.squeeze(1)).square().mean()

    learner(net(), loss).fit(3)


def bad_root_of_zero() -> None:
    def loss(pred: Tensor, y: Tensor) -> Tensor:
        return F.mse_loss(pred, y) + (pred - pred.detach()).abs().sqrt().mean()  # cause: GS701

    learner(net(), loss).fit(2)


def good_root_above_zero() -> None:
    def loss(pred: Tensor, y: Tensor) -> Tensor:
        return (F.mse_loss(pred, y) + 1e-8).sqrt()

    learner(net(), loss).fit(2)


def bad_state_carried_with_its_graph() -> None:
    class Carried(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.Linear(7, 1)
            self.state = torch.zeros(1)

        def forward(self, x: Tensor) -> Tensor:
            out = self.cell(torch.cat([x, self.state.expand(len(x), 1)], 1))  # cause: GS306
            self.state = out.mean().reshape(1)
            return out

    learner(Carried()).fit(1)


def good_state_carried_detached() -> None:
    class Carried(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.Linear(7, 1)
            self.state = torch.zeros(1)

        def forward(self, x: Tensor) -> Tensor:
            out = self.cell(torch.cat([x, self.state.expand(len(x), 1)], 1))
            self.state = out.mean().reshape(1).detach()
            return out

    learner(Carried()).fit(1)


def bad_body_without_gradients() -> None:
    class Cut(Model):
        def forward(self, x: Tensor) -> Tensor:
            with torch.no_grad():  # cause: GS303, GS301, GS302, GS313
                hidden = F.relu(self.body(x))
            return self.head(hidden)

    learner(Cut()).fit(3)


def good_body_frozen_and_thawed() -> None:
    learn = learner(Model(), splitter=halves)
    learn.freeze()
    learn.fit(2)
    learn.unfreeze()
    learn.fit(2, slice(1e-4, 1e-2))


def bad_layers_in_a_plain_list() -> None:
    class Listed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(6, 6) for _ in range(2)]  # cause: GS214
            self.head = nn.Linear(6, 1)

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = F.relu(layer(x))
            return self.head(x)

    learner(Listed()).fit(3)


def good_layers_in_a_module_list() -> None:
    class Listed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(6, 6) for _ in range(2))
            self.head = nn.Linear(6, 1)

        def forward(self, x: Tensor) -> Tensor:
            for layer in self.layers:
                x = F.relu(layer(x))
            return self.head(x)

    learner(Listed()).fit(3)


def bad_term_as_a_number() -> None:
    class Penalized(Callback):
        def after_loss(self) -> None:
            penalty = sum(p.square().sum().item() for p in self.learn.model.parameters())  # cause: GS315
            self.learn.loss_grad = self.learn.loss_grad + 0.01 * penalty

    learner(net(), cbs=[Penalized()]).fit(3)


def good_penalty_in_a_callback() -> None:
    class Penalized(Callback):
        def after_loss(self) -> None:
            penalty = sum(p.square().sum() for p in self.learn.model.parameters())
            self.learn.loss_grad = self.learn.loss_grad + 0.01 * penalty

    learner(net(), cbs=[Penalized()]).fit(3)


def good_torchs_own_optimizer() -> None:
    learner(net(), opt_func=partial(OptimWrapper, opt=torch.optim.AdamW)).fit(3)


def good_lookahead() -> None:
    learner(net(), opt_func=lambda params, lr: Lookahead(RAdam(params, lr=lr))).fit(3)


def good_norms_logged() -> None:
    class Norms(Callback):
        def before_fit(self) -> None:
            self.norms: list[float] = []

        def after_backward(self) -> None:
            self.norms.append(sum(p.grad.norm().item() for p in self.learn.model.parameters()))

    learner(net(), cbs=[Norms()]).fit(3)
