"""Programs with PyTorch Lightning as people write them: typical mistakes, each with its right twin, and what
Lightning itself does around a correct one."""

from __future__ import annotations

from typing import Any

import lightning as L
import torch
from lightning.pytorch import callbacks
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

QUIET: dict[str, Any] = {
    "accelerator": "cpu",
    "logger": False,
    "enable_checkpointing": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
}


def loader(classes: int = 0, shuffle: bool = True) -> DataLoader[Any]:
    x = torch.randn(48, 6)
    y = (x.sum(1) > 0).long() if classes else x[:, :1] * 2 - x[:, 1:2]
    return DataLoader(TensorDataset(x, y), batch_size=8, shuffle=shuffle)


def trainer(**more: Any) -> L.Trainer:
    return L.Trainer(**(QUIET | {"max_epochs": 3} | more))


class Regression(L.LightningModule):
    """A correct module that the others differ from in one thing."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.Tanh())
        self.head = nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        x, y = batch
        loss = F.mse_loss(self(x), y)
        self.log("train_loss", loss)
        return loss

    def configure_optimizers(self) -> Any:
        return torch.optim.Adam(self.parameters(), lr=1e-2)


# -- the loss that training_step returns -----------------------------------------------------------


def bad_detached_loss_returned() -> None:
    class Model(Regression):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            loss = F.mse_loss(self(x), y)
            return loss.detach()  # cause: GS303, GS301

    trainer().fit(Model(), loader())


def good_loss_returned_and_a_detached_one_logged() -> None:
    class Model(Regression):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            loss = F.mse_loss(self(x), y)
            self.log("train_loss", loss.detach(), prog_bar=True)
            return {"loss": loss, "preds": self(x).detach()}

    trainer().fit(Model(), loader())


def bad_loss_made_anew_from_its_number() -> None:
    class Model(Regression):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            loss = F.mse_loss(self(x), y)
            return torch.tensor(loss.item(), requires_grad=True)  # cause: GS304

    trainer().fit(Model(), loader())


def good_numbers_of_the_loss_kept() -> None:
    class Model(Regression):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            loss = F.mse_loss(self(x), y)
            self.seen = [*getattr(self, "seen", []), loss.item()]
            return loss

    trainer().fit(Model(), loader())


def bad_loss_not_returned() -> None:
    class Model(Regression):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            loss = F.mse_loss(self(x), y)  # cause: GS204, GS402
            self.log("train_loss", loss)

    trainer().fit(Model(), loader())


def good_a_batch_is_skipped_by_none() -> None:
    class Model(Regression):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            if batch_idx == 3:
                return None
            return F.mse_loss(self(x), y)

    trainer().fit(Model(), loader())


def bad_own_backward_under_automatic_optimization() -> None:
    class Model(Regression):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            optimizer = self.optimizers()
            optimizer.zero_grad()
            loss = F.mse_loss(self(x), y)
            loss.backward()  # cause: GS306
            optimizer.step()
            return loss

    trainer().fit(Model(), loader())


def good_own_backward_under_manual_optimization() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.automatic_optimization = False

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            optimizer = self.optimizers()
            optimizer.zero_grad()
            loss = F.mse_loss(self(x), y)
            self.manual_backward(loss)
            optimizer.step()
            return loss

    trainer().fit(Model(), loader())


# -- what the loss is made of -------------------------------------------------------------------------


def bad_detached_hidden() -> None:
    class Model(Regression):
        def forward(self, x: Tensor) -> Tensor:
            hidden = self.body(x).detach()  # cause: GS301
            return self.head(hidden)

    trainer().fit(Model(), loader())


def good_a_frozen_body_is_detached() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.body.requires_grad_(False)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.body(x).detach())

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.head.parameters(), lr=1e-2)

    trainer().fit(Model(), loader())


def bad_encode_without_grad() -> None:
    class Model(Regression):
        @torch.no_grad()  # cause: GS301
        def encode(self, x: Tensor) -> Tensor:
            return self.body(x)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.encode(x))

    trainer().fit(Model(), loader())


def good_encode_without_grad_to_predict() -> None:
    class Model(Regression):
        @torch.no_grad()
        def encode(self, x: Tensor) -> Tensor:
            return self.body(x)

        def predict_step(self, batch: Any, batch_idx: int) -> Tensor:
            return self.encode(batch[0])

    model, run = Model(), trainer()
    run.fit(model, loader())
    run.predict(model, loader(shuffle=False))


def bad_softmax_before_cross_entropy() -> None:
    class Model(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))

        def forward(self, x: Tensor) -> Tensor:
            return torch.softmax(self.net(x), dim=1)  # cause: GS702

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            return F.cross_entropy(self(x), y)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    trainer().fit(Model(), loader(classes=2))


def good_softmax_to_validate() -> None:
    class Model(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            return F.cross_entropy(self.net(x), y)

        def validation_step(self, batch: Any, batch_idx: int) -> None:
            x, y = batch
            sure = torch.softmax(self.net(x), dim=1)
            self.log("accuracy", (sure.argmax(1) == y).float().mean())

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    trainer().fit(Model(), loader(classes=2), loader(classes=2, shuffle=False))


def bad_accuracy_as_the_loss() -> None:
    class Model(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(6, 2)

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            guess = self.net(x).argmax(1)  # cause: GS305, GS303
            return F.mse_loss(guess.float(), y.float())

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    trainer().fit(Model(), loader(classes=2))


def good_accuracy_beside_the_loss() -> None:
    class Model(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(6, 2)

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            logits = self.net(x)
            self.log("accuracy", (logits.argmax(1) == y).float().mean())
            return F.cross_entropy(logits, y)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    trainer().fit(Model(), loader(classes=2))


# -- configure_optimizers --------------------------------------------------------------------------


def bad_head_alone_in_configure_optimizers() -> None:
    class Model(Regression):
        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.head.parameters(), lr=1e-2)  # cause: GS206

    trainer().fit(Model(), loader())


def good_groups_in_configure_optimizers() -> None:
    class Model(Regression):
        def configure_optimizers(self) -> Any:
            groups = [{"params": self.body.parameters(), "lr": 1e-3}, {"params": self.head.parameters()}]
            optimizer = torch.optim.AdamW(groups, lr=1e-2)
            schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=3)
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "epoch"}}

    trainer().fit(Model(), loader())


def bad_layers_in_a_plain_list() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = [nn.Linear(16, 16) for _ in range(2)]  # cause: GS214

        def forward(self, x: Tensor) -> Tensor:
            hidden = self.body(x)
            for block in self.blocks:
                hidden = torch.relu(block(hidden))
            return self.head(hidden)

    trainer().fit(Model(), loader())


def good_layers_in_a_module_list() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(nn.Linear(16, 16) for _ in range(2))

        def forward(self, x: Tensor) -> Tensor:
            hidden = self.body(x)
            for block in self.blocks:
                hidden = torch.relu(block(hidden))
            return self.head(hidden)

    trainer().fit(Model(), loader())


def bad_head_replaced_after_the_optimizer_was_made() -> None:
    class Model(Regression):
        def on_train_start(self) -> None:
            self.head = nn.Linear(16, 1)

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=1e-2)  # cause: GS207

    trainer().fit(Model(), loader())


def good_head_replaced_before_the_optimizer_is_made() -> None:
    class Model(Regression):
        def setup(self, stage: str) -> None:
            self.head = nn.Linear(16, 1)

    trainer().fit(Model(), loader())


def bad_thawed_layers_that_no_optimizer_holds() -> None:
    class Thaw(callbacks.Callback):
        def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
            if trainer.current_epoch == 1:
                pl_module.body.requires_grad_(True)

    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.body.requires_grad_(False)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD([p for p in self.parameters() if p.requires_grad], lr=1e-2)  # cause: GS206

    trainer(callbacks=[Thaw()], max_epochs=4).fit(Model(), loader())


def good_thawed_layers_by_backbone_finetuning() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.backbone = self.body

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD([p for p in self.parameters() if p.requires_grad], lr=1e-2)

    finetuning = callbacks.BackboneFinetuning(unfreeze_backbone_at_epoch=1, lambda_func=lambda epoch: 1.5)
    trainer(callbacks=[finetuning], max_epochs=4).fit(Model(), loader())


def bad_frozen_after_the_first_epoch_by_a_wrong_name() -> None:
    class Freeze(callbacks.Callback):
        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            pl_module.body.requires_grad = False  # cause: GS308

    trainer(callbacks=[Freeze()]).fit(Regression(), loader())


def good_frozen_by_a_callback() -> None:
    class Freeze(callbacks.Callback):
        def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
            pl_module.body.requires_grad_(False)

    class Model(Regression):
        def configure_optimizers(self) -> Any:
            return torch.optim.SGD([p for p in self.parameters() if p.requires_grad], lr=1e-2)

    trainer(callbacks=[Freeze()]).fit(Model(), loader())


def bad_frozen_backbone_whose_batch_norm_moves() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
            self.body.requires_grad_(False)

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            return F.mse_loss(self(batch[0]), batch[1])  # cause: GS405

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.head.parameters(), lr=1e-2)

    trainer().fit(Model(), loader())


def good_frozen_backbone_in_eval_mode() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU())
            self.body.requires_grad_(False)

        def on_train_epoch_start(self) -> None:
            self.body.eval()

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.head.parameters(), lr=1e-2)

    trainer().fit(Model(), loader(), loader(shuffle=False))


# -- manual optimisation -----------------------------------------------------------------------------


class Manual(Regression):
    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False


def bad_manual_without_zero_grad() -> None:
    class Model(Manual):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            optimizer = self.optimizers()
            loss = F.mse_loss(self(x), y)
            self.manual_backward(loss)
            optimizer.step()  # cause: GS201: call `optimizer.zero_grad()`

    trainer().fit(Model(), loader())


def good_manual_accumulation() -> None:
    class Model(Manual):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            optimizer = self.optimizers()
            self.manual_backward(F.mse_loss(self(x), y) / 2)
            if (batch_idx + 1) % 2 == 0:
                self.clip_gradients(optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm")
                optimizer.step()
                optimizer.zero_grad()

    trainer().fit(Model(), loader())


def bad_manual_accumulation_not_divided() -> None:
    class Model(Manual):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            optimizer = self.optimizers()
            loss = F.mse_loss(self(x), y)
            self.manual_backward(loss)  # cause: GS216
            if (batch_idx + 1) % 3 == 0:
                optimizer.step()
                optimizer.zero_grad()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=1e-2)

    trainer().fit(Model(), loader())


def good_accumulation_by_the_trainer() -> None:
    trainer(accumulate_grad_batches=3, gradient_clip_val=0.5).fit(Regression(), loader())


def bad_manual_without_step() -> None:
    class Model(Manual):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            self.optimizers().zero_grad()
            loss = F.mse_loss(self(x), y)
            self.manual_backward(loss)

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=1e-2)  # cause: GS205

    trainer().fit(Model(), loader())


def good_manual_with_a_schedule() -> None:
    class Model(Manual):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(F.mse_loss(self(x), y))
            optimizer.step()

        def on_train_epoch_end(self) -> None:
            self.lr_schedulers().step()

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)]

    trainer().fit(Model(), loader())


def bad_manual_schedule_never_stepped() -> None:
    class Model(Manual):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(F.mse_loss(self(x), y))
            optimizer.step()

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters(), lr=1e-2)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)]  # cause: GS210

    trainer().fit(Model(), loader())


def bad_manual_clipped_after_the_step() -> None:
    class Model(Manual):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            optimizer = self.optimizers()
            optimizer.zero_grad()
            self.manual_backward(F.mse_loss(self(x), y))
            optimizer.step()
            self.clip_gradients(optimizer, 1.0, "norm")  # cause: GS209

    trainer().fit(Model(), loader())


# -- two optimizers -------------------------------------------------------------------------------------


class Gan(L.LightningModule):
    """A correct one, as the tutorial has it."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False
        self.generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))
        self.discriminator = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))

    def judged(self, x: Tensor, real: bool) -> Tensor:
        logits = self.discriminator(x)
        return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, float(real)))

    def training_step(self, batch: Any, batch_idx: int) -> Any:
        real = batch[0]
        opt_g, opt_d = self.optimizers()
        noise = torch.randn(len(real), 4).type_as(real)

        self.toggle_optimizer(opt_g)
        g_loss = self.judged(self.generator(noise), True)
        self.log("g_loss", g_loss, prog_bar=True)
        self.manual_backward(g_loss)
        opt_g.step()
        opt_g.zero_grad()
        self.untoggle_optimizer(opt_g)

        self.toggle_optimizer(opt_d)
        d_loss = (self.judged(real, True) + self.judged(self.generator(noise).detach(), False)) / 2
        self.log("d_loss", d_loss, prog_bar=True)
        self.manual_backward(d_loss)
        opt_d.step()
        opt_d.zero_grad()
        self.untoggle_optimizer(opt_d)

    def configure_optimizers(self) -> Any:
        g = torch.optim.Adam(self.generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
        d = torch.optim.Adam(self.discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
        return [g, d], []


def good_gan() -> None:
    trainer().fit(Gan(), loader())


def bad_gan_generator_judged_by_its_detached_images() -> None:
    class Model(Gan):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            real = batch[0]
            opt_g, opt_d = self.optimizers()
            fake = self.generator(torch.randn(len(real), 4)).detach()  # cause: GS301

            d_loss = (self.judged(real, True) + self.judged(fake, False)) / 2
            opt_d.zero_grad()
            self.manual_backward(d_loss)
            opt_d.step()

            g_loss = self.judged(fake, True)
            opt_g.zero_grad()
            self.manual_backward(g_loss)
            opt_g.step()

    trainer().fit(Model(), loader())


def bad_gan_not_untoggled() -> None:
    class Model(Gan):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            real = batch[0]
            opt_g, opt_d = self.optimizers()
            noise = torch.randn(len(real), 4)

            self.toggle_optimizer(opt_g)  # cause: GS303
            self.manual_backward(self.judged(self.generator(noise), True))
            opt_g.step()
            opt_g.zero_grad()

            d_loss = (self.judged(real, True) + self.judged(self.generator(noise).detach(), False)) / 2
            self.manual_backward(d_loss)
            opt_d.step()
            opt_d.zero_grad()

    trainer().fit(Model(), loader())


def good_gan_without_toggling() -> None:
    class Model(Gan):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            real = batch[0]
            opt_g, opt_d = self.optimizers()
            fake = self.generator(torch.randn(len(real), 4))

            d_loss = (self.judged(real, True) + self.judged(fake.detach(), False)) / 2
            opt_d.zero_grad()
            self.manual_backward(d_loss)
            opt_d.step()

            g_loss = self.judged(fake, True)
            opt_g.zero_grad()
            self.manual_backward(g_loss)
            opt_g.step()

    trainer().fit(Model(), loader())


def bad_gan_discriminator_never_cleared() -> None:
    class Model(Gan):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            real = batch[0]
            opt_g, opt_d = self.optimizers()
            fake = self.generator(torch.randn(len(real), 4))

            d_loss = (self.judged(real, True) + self.judged(fake.detach(), False)) / 2
            self.manual_backward(d_loss)
            opt_d.step()  # cause: GS201

            g_loss = self.judged(fake, True)
            opt_g.zero_grad()
            self.manual_backward(g_loss)
            opt_g.step()

    trainer().fit(Model(), loader())


# -- what is kept --------------------------------------------------------------------------------------


def bad_losses_kept_with_their_graphs() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.losses: list[Tensor] = []

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            loss = F.mse_loss(self(x), y)
            self.losses.append(loss)  # cause: GS602
            return loss

        def on_train_epoch_end(self) -> None:
            self.log("epoch_loss", torch.stack(self.losses).mean())
            self.losses.clear()

    trainer().fit(Model(), loader())


def good_losses_kept_detached() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.losses: list[Tensor] = []

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            loss = F.mse_loss(self(x), y)
            self.losses.append(loss.detach())
            return loss

        def on_train_epoch_end(self) -> None:
            self.log("epoch_loss", torch.stack(self.losses).mean())
            self.losses.clear()

    trainer().fit(Model(), loader())


def bad_running_sum_of_losses() -> None:
    class Model(Regression):
        total: Any = 0.0

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            loss = F.mse_loss(self(x), y)
            self.total += loss  # cause: GS602, GS603
            return loss

    trainer().fit(Model(), loader())


def bad_hidden_state_carried_with_its_graph() -> None:
    class Model(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(6, 8)
            self.head = nn.Linear(8, 1)
            self.hidden = torch.zeros(8, 8)

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            self.hidden = self.cell(x, self.hidden)  # cause: GS306, GS603
            return F.mse_loss(self.head(self.hidden), y)

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=1e-2)

    trainer().fit(Model(), loader())


def good_hidden_state_carried_detached() -> None:
    class Model(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.GRUCell(6, 8)
            self.head = nn.Linear(8, 1)
            self.hidden = torch.zeros(8, 8)

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            self.hidden = self.cell(x, self.hidden.detach())
            return F.mse_loss(self.head(self.hidden), y)

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=1e-2)

    trainer().fit(Model(), loader())


def bad_ema_that_keeps_the_graph() -> None:
    class Ema(callbacks.Callback):
        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            self.shadow = {name: p.detach().clone() for name, p in pl_module.named_parameters()}

        def on_train_batch_end(self, trainer: Any, pl_module: Any, *args: Any) -> None:
            for name, p in pl_module.named_parameters():
                self.shadow[name] = 0.9 * self.shadow[name] + 0.1 * p  # cause: GS602, GS603

    trainer(callbacks=[Ema()]).fit(Regression(), loader())


def good_ema_callback() -> None:
    class Ema(callbacks.Callback):
        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            self.shadow = {name: p.detach().clone() for name, p in pl_module.named_parameters()}

        @torch.no_grad()
        def on_train_batch_end(self, trainer: Any, pl_module: Any, *args: Any) -> None:
            for name, p in pl_module.named_parameters():
                self.shadow[name].lerp_(p, 0.1)

        def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
            self.kept = {name: p.detach().clone() for name, p in pl_module.named_parameters()}
            pl_module.load_state_dict(self.shadow)

        def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
            pl_module.load_state_dict(self.kept)

    class Model(Regression):
        def validation_step(self, batch: Any, batch_idx: int) -> None:
            self.log("val_loss", F.mse_loss(self(batch[0]), batch[1]))

    trainer(callbacks=[Ema()], num_sanity_val_steps=0).fit(Model(), loader(), loader(shuffle=False))


# -- modes ------------------------------------------------------------------------------------------------


class Dropped(Regression):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2))


def bad_eval_left_on_by_a_callback() -> None:
    class Sample(callbacks.Callback):
        def on_train_batch_end(
            self, trainer: Any, pl_module: Any, out: Any, batch: Any, batch_idx: int
        ) -> None:
            if batch_idx == 2:
                pl_module.eval()  # cause: GS403
                with torch.no_grad():
                    print(pl_module(torch.ones(1, 6)).item())

    trainer(callbacks=[Sample()]).fit(Dropped(), loader())


def good_eval_in_a_callback_and_train_again() -> None:
    class Sample(callbacks.Callback):
        def on_train_batch_end(
            self, trainer: Any, pl_module: Any, out: Any, batch: Any, batch_idx: int
        ) -> None:
            if batch_idx == 2:
                pl_module.eval()
                with torch.no_grad():
                    print(pl_module(torch.ones(1, 6)).item())
                pl_module.train()

    trainer(callbacks=[Sample()]).fit(Dropped(), loader())


def bad_evaluated_in_a_callback_without_eval() -> None:
    class Test(callbacks.Callback):
        def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            total = 0.0
            with torch.no_grad():
                for x, y in loader(shuffle=False):
                    total += F.mse_loss(pl_module(x), y).item()  # cause: GS401
            print(total)

    trainer(callbacks=[Test()]).fit(Dropped(), loader())


def bad_dropout_always_on() -> None:
    class Model(Regression):
        def forward(self, x: Tensor) -> Tensor:
            return self.head(F.dropout(self.body(x), 0.2))  # cause: GS404

        def validation_step(self, batch: Any, batch_idx: int) -> None:
            self.log("val_loss", F.mse_loss(self(batch[0]), batch[1]))

    trainer().fit(Model(), loader(), loader(shuffle=False))


def good_dropout_with_its_mode() -> None:
    class Model(Regression):
        def forward(self, x: Tensor) -> Tensor:
            return self.head(F.dropout(self.body(x), 0.2, self.training))

        def validation_step(self, batch: Any, batch_idx: int) -> None:
            self.log("val_loss", F.mse_loss(self(batch[0]), batch[1]))

    trainer().fit(Model(), loader(), loader(shuffle=False))


# -- Lightning's own machinery around a correct model -------------------------------------------------------


class Validated(Dropped):
    def validation_step(self, batch: Any, batch_idx: int) -> None:
        x, y = batch
        self.log("val_loss", F.mse_loss(self(x), y), prog_bar=True)

    test_step = validation_step

    def predict_step(self, batch: Any, batch_idx: int) -> Tensor:
        return self(batch[0])


def good_validation_checkpoints_and_early_stopping() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        kept = callbacks.ModelCheckpoint(folder, monitor="val_loss", save_top_k=2)
        stopping = callbacks.EarlyStopping("val_loss", patience=1, min_delta=10.0)
        run = trainer(
            callbacks=[kept, stopping], enable_checkpointing=True, max_epochs=6, val_check_interval=0.5
        )
        model = Validated()
        run.fit(model, loader(), loader(shuffle=False))
        run.test(model, loader(shuffle=False), ckpt_path=kept.best_model_path, weights_only=False)
        run.predict(model, loader(shuffle=False))
        again = trainer(max_epochs=5)
        again.fit(
            Validated(), loader(), loader(shuffle=False), ckpt_path=kept.best_model_path, weights_only=False
        )


def good_bf16_mixed() -> None:
    trainer(precision="bf16-mixed", gradient_clip_val=1.0).fit(Validated(), loader(), loader(shuffle=False))


def good_bf16_true() -> None:
    trainer(precision="bf16-true").fit(Regression(), loader())


def good_schedule_by_step() -> None:
    class Model(Regression):
        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)
            total = int(self.trainer.estimated_stepping_batches)
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=total)
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    trainer(accumulate_grad_batches=2).fit(Model(), loader())


def bad_one_cycle_once_per_epoch() -> None:
    class Model(Regression):
        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)
            total = int(self.trainer.estimated_stepping_batches)
            schedule = torch.optim.lr_scheduler.OneCycleLR(  # cause: GS217: "interval": "step"
                optimizer, max_lr=1e-2, total_steps=total
            )
            return [optimizer], [schedule]

    trainer().fit(Model(), loader())


def bad_cosine_in_epochs_at_each_step() -> None:
    class Model(Regression):
        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)
            epochs = self.trainer.max_epochs or 1
            schedule = torch.optim.lr_scheduler.CosineAnnealingLR(  # cause: GS217: "interval": "epoch"
                optimizer, T_max=epochs
            )
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    trainer().fit(Model(), loader())


def good_schedule_on_plateau() -> None:
    class Model(Validated):
        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.SGD(self.parameters(), lr=1e-2, momentum=0.9)
            schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "monitor": "val_loss"}}

    trainer(max_epochs=5).fit(Model(), loader(), loader(shuffle=False))


def good_warmup_in_optimizer_step() -> None:
    class Model(Regression):
        def optimizer_step(
            self, epoch: int, batch_idx: int, optimizer: Any, optimizer_closure: Any = None
        ) -> None:
            if self.trainer.global_step < 5:
                for group in optimizer.param_groups:
                    group["lr"] = 1e-2 * (self.trainer.global_step + 1) / 5
            optimizer.step(closure=optimizer_closure)

        def optimizer_zero_grad(self, epoch: int, batch_idx: int, optimizer: Any) -> None:
            optimizer.zero_grad(set_to_none=False)

    trainer().fit(Model(), loader())


def good_lbfgs() -> None:
    class Model(Regression):
        def configure_optimizers(self) -> Any:
            return torch.optim.LBFGS(self.parameters(), lr=0.1, max_iter=4)

    trainer().fit(Model(), loader())


def good_weight_averaging() -> None:
    trainer(callbacks=[callbacks.EMAWeightAveraging(decay=0.9)]).fit(
        Validated(), loader(), loader(shuffle=False)
    )
    averaging = callbacks.StochasticWeightAveraging(swa_lrs=1e-2, swa_epoch_start=0.5)
    trainer(callbacks=[averaging], max_epochs=4).fit(Validated(), loader(), loader(shuffle=False))


def good_weight_averaging_takes_over_from_a_schedule_by_step() -> None:
    class Model(Validated):
        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)
            total = int(self.trainer.estimated_stepping_batches)
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=total)
            return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    averaging = callbacks.StochasticWeightAveraging(swa_lrs=1e-3, swa_epoch_start=2)
    trainer(callbacks=[averaging], max_epochs=6).fit(Model(), loader(), loader(shuffle=False))


def good_gradients_logged() -> None:
    from lightning.pytorch.utilities import grad_norm

    class Model(Regression):
        def on_before_optimizer_step(self, optimizer: Any) -> None:
            self.log_dict(grad_norm(self, norm_type=2))

    trainer(gradient_clip_val=0.5).fit(Model(), loader())


def good_teacher_and_student() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.teacher = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Linear(16, 1))
            self.teacher.requires_grad_(False).eval()

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            out = self(x)
            with torch.no_grad():
                wanted = self.teacher(x)
            return F.mse_loss(out, y) + 0.5 * F.mse_loss(out, wanted)

    trainer().fit(Model(), loader(), loader(shuffle=False))


def good_metrics_of_torchmetrics() -> None:
    import torchmetrics

    class Model(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
            self.accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=2)
            self.mean_loss = torchmetrics.MeanMetric()

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            logits = self.net(x)
            loss = F.cross_entropy(logits, y)
            self.accuracy(logits, y)
            self.mean_loss(loss)
            self.log("accuracy", self.accuracy, on_epoch=True)
            self.log("loss", self.mean_loss, on_step=False, on_epoch=True)
            return loss

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=1e-2)

    trainer().fit(Model(), loader(classes=2))


def good_learning_rate_finder() -> None:
    from lightning.pytorch.tuner import Tuner

    class Model(Regression):
        lr = 1e-3

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=self.lr)

    model, run = Model(), trainer(enable_checkpointing=True)
    Tuner(run).lr_find(model, loader(), num_training=12)
    run.fit(model, loader())


def good_two_optimizers_that_alternate() -> None:
    class Model(Manual):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            body, head = self.optimizers()
            chosen = body if batch_idx % 2 == 0 else head
            self.toggle_optimizer(chosen)
            loss = F.mse_loss(self(x), y)
            chosen.zero_grad()
            self.manual_backward(loss)
            chosen.step()
            self.untoggle_optimizer(chosen)

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.body.parameters(), lr=1e-2), torch.optim.SGD(
                self.head.parameters(), lr=1e-2
            )

    trainer().fit(Model(), loader())


def good_fabric() -> None:
    fabric = L.Fabric(accelerator="cpu", precision="bf16-mixed")
    model = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.1), nn.Linear(16, 1))
    model, optimizer = fabric.setup(model, torch.optim.AdamW(model.parameters(), lr=1e-2))
    batches = fabric.setup_dataloaders(loader())
    for _ in range(3):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            fabric.backward(loss)
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            print(sum(F.mse_loss(model(x), y).item() for x, y in batches))


def bad_fabric_without_zero_grad() -> None:
    fabric = L.Fabric(accelerator="cpu")
    model = nn.Linear(6, 1)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=1e-2))
    for x, y in fabric.setup_dataloaders(loader()):
        loss = F.mse_loss(model(x), y)
        fabric.backward(loss)
        optimizer.step()  # cause: GS201


def good_steps_and_data_module() -> None:
    class Data(L.LightningDataModule):
        def train_dataloader(self) -> Any:
            return loader()

        def val_dataloader(self) -> Any:
            return [loader(shuffle=False), loader(shuffle=False)]

    class Model(Dropped):
        def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
            self.log("val", F.mse_loss(self(batch[0]), batch[1]))

    trainer(max_epochs=-1, max_steps=20, limit_val_batches=2).fit(Model(), datamodule=Data())


# -- second sight: what else people write wrongly ---------------------------------------------------------


def bad_loss_in_a_dict_is_detached() -> None:
    class Model(Regression):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            predicted = self(x)
            loss = F.mse_loss(predicted, y).detach()  # cause: GS303: `training_step`
            return {"loss": loss, "predicted": predicted.detach()}

    trainer().fit(Model(), loader())


def bad_loss_rewrapped_by_torch_tensor() -> None:
    class Model(Regression):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            loss = F.mse_loss(self(x), y)
            return torch.tensor(loss)  # cause: GS303: `training_step`

    trainer().fit(Model(), loader())


def bad_training_step_under_no_grad() -> None:
    class Model(Regression):
        @torch.no_grad()  # cause: GS303: `training_step`
        def shared_step(self, batch: Any) -> Tensor:
            x, y = batch
            return F.mse_loss(self(x), y)

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            return self.shared_step(batch)

        def validation_step(self, batch: Any, batch_idx: int) -> Any:
            self.log("val_loss", self.shared_step(batch))

    trainer().fit(Model(), loader(), loader(shuffle=False))


def good_shared_step() -> None:
    class Model(Regression):
        def shared_step(self, batch: Any) -> Tensor:
            x, y = batch
            return F.mse_loss(self(x), y)

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            return self.shared_step(batch)

        def validation_step(self, batch: Any, batch_idx: int) -> Any:
            self.log("val_loss", self.shared_step(batch))

        @torch.no_grad()
        def encode(self, x: Tensor) -> Tensor:
            return self.body(x)

        def test_step(self, batch: Any, batch_idx: int) -> Any:
            self.log("spread", self.encode(batch[0]).std())

    model, run = Model(), trainer()
    run.fit(model, loader(), loader(shuffle=False))
    run.test(model, loader(shuffle=False), verbose=False)


def bad_configure_optimizers_returns_nothing() -> None:
    class Model(Regression):
        def configure_optimizers(self) -> Any:
            torch.optim.Adam(self.parameters(), lr=1e-2)  # cause: GS205: configure_optimizers

    trainer().fit(Model(), loader())


def good_no_optimizer_to_look_at_the_loss() -> None:
    class Model(Regression):
        def configure_optimizers(self) -> Any:
            return None

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            with torch.no_grad():
                self.log("loss", F.mse_loss(self(batch[0]), batch[1]))

    trainer(max_epochs=1).fit(Model(), loader())


def bad_optimizer_step_without_its_closure() -> None:
    class Model(Regression):
        def optimizer_step(
            self, epoch: int, batch_idx: int, optimizer: Any, optimizer_closure: Any = None
        ) -> None:
            optimizer.step()  # cause: GS204: closure

    trainer().fit(Model(), loader())


def good_optimizer_step_with_its_closure() -> None:
    class Model(Regression):
        def optimizer_step(
            self, epoch: int, batch_idx: int, optimizer: Any, optimizer_closure: Any = None
        ) -> None:
            optimizer.step(closure=optimizer_closure)
            for group in optimizer.param_groups:
                group["lr"] *= 0.99

    trainer().fit(Model(), loader())


def bad_gradients_cleared_after_backward() -> None:
    class Model(Regression):
        def on_after_backward(self) -> None:
            self.zero_grad()  # cause: GS202

    trainer().fit(Model(), loader())


def good_gradients_clipped_before_the_step() -> None:
    class Model(Regression):
        def on_before_optimizer_step(self, optimizer: Any) -> None:
            nn.utils.clip_grad_norm_(self.parameters(), 0.5)

    trainer().fit(Model(), loader())


def bad_gradients_clipped_after_the_step() -> None:
    class Clip(callbacks.Callback):
        def on_train_batch_end(self, trainer: Any, pl_module: Any, *args: Any) -> None:
            nn.utils.clip_grad_norm_(pl_module.parameters(), 0.5)  # cause: GS209

    trainer(callbacks=[Clip()]).fit(Regression(), loader())


def bad_learnt_weights_of_the_loss_in_no_optimizer() -> None:
    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.log_vars = nn.Parameter(torch.zeros(2))

        def forward(self, losses: Tensor) -> Tensor:
            return (losses * torch.exp(-self.log_vars) + self.log_vars).sum()

    class Model(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
            self.criterion = Weighted()

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            out = self.net(x)
            return self.criterion(torch.stack([F.mse_loss(out[:, :1], y), F.l1_loss(out[:, 1:], y)]))

        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.net.parameters(), lr=1e-2)  # cause: GS206

    trainer().fit(Model(), loader())


def good_learnt_weights_of_the_loss() -> None:
    class Model(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
            self.log_vars = nn.Parameter(torch.zeros(2))

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            out = self.net(x)
            losses = torch.stack([F.mse_loss(out[:, :1], y), F.l1_loss(out[:, 1:], y)])
            return (losses * torch.exp(-self.log_vars) + self.log_vars).sum()

        def configure_optimizers(self) -> Any:
            groups = [{"params": self.net.parameters()}, {"params": [self.log_vars], "lr": 1e-3}]
            return torch.optim.Adam(groups, lr=1e-2)

    trainer().fit(Model(), loader())


def bad_frozen_for_a_warm_up_and_never_thawed() -> None:
    class WarmUp(callbacks.Callback):
        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            pl_module.body.requires_grad_(False)

        def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
            if trainer.current_epoch == 30:
                pl_module.body.requires_grad_(True)

    class Model(Regression):
        def configure_optimizers(self) -> Any:
            return torch.optim.Adam(self.parameters(), lr=1e-2)  # cause: GS208

    trainer(callbacks=[WarmUp()]).fit(Model(), loader())


def good_frozen_for_a_warm_up_and_thawed() -> None:
    class WarmUp(callbacks.Callback):
        def on_train_start(self, trainer: Any, pl_module: Any) -> None:
            pl_module.body.requires_grad_(False)

        def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
            if trainer.current_epoch == 1:
                pl_module.body.requires_grad_(True)

    trainer(callbacks=[WarmUp()]).fit(Regression(), loader())


def bad_whole_model_in_eval_before_fit() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2))
            self.eval()  # cause: GS403, GS409

    trainer().fit(Model(), loader())


def bad_wrong_module_back_in_train() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2))

        def on_train_epoch_end(self) -> None:
            self.eval()  # cause: GS403, GS409
            with torch.no_grad():
                print(self(torch.randn(4, 6)).mean().item())
            self.head.train()

    trainer().fit(Model(), loader())


def bad_manual_step_before_backward() -> None:
    class Model(Manual):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            optimizer = self.optimizers()
            loss = F.mse_loss(self(x), y)
            optimizer.zero_grad()
            optimizer.step()  # cause: GS204: after `self.manual_backward(loss)`
            self.manual_backward(loss)

    trainer().fit(Model(), loader())


def bad_manual_backward_of_a_detached_sum() -> None:
    class Model(Manual):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            optimizer = self.optimizers()
            optimizer.zero_grad()
            loss = F.mse_loss(self(x), y)
            total = torch.tensor([loss, 0.1]).sum()  # cause: GS303: `total`
            self.manual_backward(total)
            optimizer.step()

    trainer().fit(Model(), loader())


def bad_manual_optimization_forgotten_to_backward() -> None:
    class Model(Manual):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            optimizer = self.optimizers()
            optimizer.zero_grad()
            loss = F.mse_loss(self(x), y)
            optimizer.step()  # cause: GS204
            return loss

    trainer().fit(Model(), loader())


def bad_gan_generator_fills_the_discriminator() -> None:
    class Model(Gan):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            real = batch[0]
            opt_g, opt_d = self.optimizers()
            noise = torch.randn(len(real), 4)

            opt_d.zero_grad()
            g_loss = self.judged(self.generator(noise), True)
            opt_g.zero_grad()
            self.manual_backward(g_loss)  # cause: GS232
            opt_g.step()

            fake = self.generator(noise).detach()
            d_loss = (self.judged(real, True) + self.judged(fake, False)) / 2
            self.manual_backward(d_loss)
            opt_d.step()  # cause: GS201

    trainer().fit(Model(), loader())


def bad_both_optimizers_hold_everything() -> None:
    class Model(Gan):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            real = batch[0]
            opt_g, opt_d = self.optimizers()
            noise = torch.randn(len(real), 4)

            opt_g.zero_grad()
            self.manual_backward(self.judged(self.generator(noise), True))
            opt_g.step()  # cause: GS232

            opt_d.zero_grad()
            fake = self.generator(noise).detach()
            self.manual_backward((self.judged(real, True) + self.judged(fake, False)) / 2)
            opt_d.step()

        def configure_optimizers(self) -> Any:
            g = torch.optim.Adam(self.parameters(), lr=2e-3)
            d = torch.optim.Adam(self.discriminator.parameters(), lr=2e-3)
            return [g, d], []

    trainer().fit(Model(), loader())


def bad_logits_kept_until_the_epoch_ends() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.outputs: list[Any] = []

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            out = self(x)
            self.outputs.append((out, y))  # cause: GS602
            return F.mse_loss(out, y)

        def on_train_epoch_end(self) -> None:
            out = torch.cat([o for o, _ in self.outputs])
            y = torch.cat([y for _, y in self.outputs])
            self.log("train_r", 1 - (out - y).var() / y.var())
            self.outputs.clear()

    trainer().fit(Model(), loader())


def good_logits_kept_detached_until_the_epoch_ends() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.outputs: list[Any] = []

        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            out = self(x)
            self.outputs.append((out.detach(), y))
            return F.mse_loss(out, y)

        def on_train_epoch_end(self) -> None:
            out = torch.cat([o for o, _ in self.outputs])
            y = torch.cat([y for _, y in self.outputs])
            self.log("train_r", 1 - (out - y).var() / y.var())
            self.outputs.clear()

    trainer().fit(Model(), loader())


def bad_probe_in_training_mode_within_training_step() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.4))
            self.held_out = torch.randn(16, 6)

        def on_train_epoch_end(self) -> None:
            with torch.no_grad():
                guessed = self(self.held_out)  # cause: GS401
            self.log("held_out", guessed.pow(2).mean())

    trainer().fit(Model(), loader())


def bad_own_clearing_under_accumulation() -> None:
    class Model(Regression):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            self.zero_grad()  # cause: GS215, GS202
            return F.mse_loss(self(batch[0]), batch[1])

    trainer(accumulate_grad_batches=3).fit(Model(), loader())


def bad_target_of_another_shape() -> None:
    class Model(Regression):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            return F.mse_loss(self(x), y.squeeze(1))  # cause: GS703

    trainer().fit(Model(), loader())


def bad_plain_tensor_as_a_parameter() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.scale = torch.ones(1, requires_grad=True)  # cause: GS206, GS213, GS214

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.body(x)) * self.scale

    trainer().fit(Model(), loader())


def good_validation_with_gradients() -> None:
    class Model(Regression):
        def validation_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            with torch.enable_grad():
                x = x.clone().requires_grad_(True)
                slope = torch.autograd.grad(self(x).sum(), x)[0]
            self.log("slope", slope.norm())
            self.log("val_loss", F.mse_loss(self(x), y))

    trainer(inference_mode=False).fit(Model(), loader(), loader(shuffle=False))


def good_manual_with_closure() -> None:
    class Model(Manual):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            x, y = batch
            optimizer = self.optimizers()

            def closure() -> Tensor:
                loss = F.mse_loss(self(x), y)
                optimizer.zero_grad()
                self.manual_backward(loss)
                return loss

            optimizer.step(closure=closure)

    trainer().fit(Model(), loader())


def bad_put_in_training_mode_by_validation_step() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Tanh())

        def validation_step(self, batch: Any, batch_idx: int) -> None:
            self.train()
            x, y = batch
            self.log("validation_loss", F.mse_loss(self(x), y))  # cause: GS401: in place of `self.train()`

    trainer().fit(Model(), loader(), loader(shuffle=False))


def good_validation_step_in_the_mode_that_it_is_called_in() -> None:
    class Model(Regression):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.Tanh())

        def validation_step(self, batch: Any, batch_idx: int) -> None:
            x, y = batch
            self.log("validation_loss", F.mse_loss(self(x), y))

    trainer().fit(Model(), loader(), loader(shuffle=False))
