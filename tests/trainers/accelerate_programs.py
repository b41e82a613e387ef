"""Training loops with Accelerate as people write them: typical mistakes, each with its right twin."""

from __future__ import annotations

from typing import Any

import torch
from accelerate import Accelerator
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


def loader(count: int = 48) -> DataLoader[Any]:
    x = torch.randn(count, 6)
    return DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=8, shuffle=True)


def network() -> Any:
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 2))


def bad_no_zero_grad() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    model, optimizer, batches = accelerator.prepare(model, optimizer, loader())
    for _ in range(2):
        for x, y in batches:
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            optimizer.step()  # cause: GS201


def good_loop_with_evaluation() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-2, total_steps=12)
    model, optimizer, batches, tests, schedule = accelerator.prepare(
        model, optimizer, loader(), loader(16), schedule
    )
    for _ in range(2):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            accelerator.backward(F.cross_entropy(model(x), y))
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        model.eval()
        for x, y in tests:
            with torch.no_grad():
                guesses = model(x).argmax(1)
            print(accelerator.gather_for_metrics((guesses == y).float()).mean().item())


def bad_optimizer_made_before_the_head_is_replaced() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)  # cause: GS207
    model[3] = nn.Linear(16, 2)
    model, optimizer, batches = accelerator.prepare(model, optimizer, loader())
    for x, y in batches:
        optimizer.zero_grad()
        accelerator.backward(F.cross_entropy(model(x), y))
        optimizer.step()


def good_accumulation() -> None:
    accelerator, model = Accelerator(cpu=True, gradient_accumulation_steps=2), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    model, optimizer, batches = accelerator.prepare(model, optimizer, loader())
    for _ in range(2):
        for x, y in batches:
            with accelerator.accumulate(model):
                accelerator.backward(F.cross_entropy(model(x), y))
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()


def bad_cleared_within_accumulation() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    model, optimizer, batches = accelerator.prepare(model, optimizer, loader())
    for i, (x, y) in enumerate(batches):
        optimizer.zero_grad()  # cause: GS215
        accelerator.backward(F.cross_entropy(model(x), y) / 2)
        if i % 2:
            optimizer.step()


def bad_clipped_after_the_step() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    model, optimizer, batches = accelerator.prepare(model, optimizer, loader())
    for x, y in batches:
        optimizer.zero_grad()
        accelerator.backward(F.cross_entropy(model(x), y))
        optimizer.step()
        accelerator.clip_grad_norm_(model.parameters(), 1.0)  # cause: GS209


def bad_cleared_before_the_step() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    model, optimizer, batches = accelerator.prepare(model, optimizer, loader())
    for x, y in batches:
        accelerator.backward(F.cross_entropy(model(x), y))
        optimizer.zero_grad()  # cause: GS202
        optimizer.step()


def bad_never_stepped() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)  # cause: GS205
    model, optimizer, batches = accelerator.prepare(model, optimizer, loader())
    for x, y in batches:
        optimizer.zero_grad()
        accelerator.backward(F.cross_entropy(model(x), y))


def bad_evaluated_in_training_mode() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    model, optimizer, batches, tests = accelerator.prepare(model, optimizer, loader(), loader(16))
    for _ in range(2):
        for x, y in batches:
            optimizer.zero_grad()
            accelerator.backward(F.cross_entropy(model(x), y))
            optimizer.step()
        for x, y in tests:
            with torch.no_grad():
                guesses = model(x).argmax(1)  # cause: GS401
            print((guesses == y).float().mean().item())


def bad_eval_left_on() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    model, optimizer, batches, tests = accelerator.prepare(model, optimizer, loader(), loader(16))
    for _ in range(2):
        for x, y in batches:
            optimizer.zero_grad()
            accelerator.backward(F.cross_entropy(model(x), y))
            optimizer.step()
        model.eval()  # cause: GS403
        for x, y in tests:
            with torch.no_grad():
                print((model(x).argmax(1) == y).float().mean().item())


def bad_total_keeps_graphs() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    model, optimizer, batches = accelerator.prepare(model, optimizer, loader())
    total: Any = 0
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        total += loss  # cause: GS602
        accelerator.backward(loss)
        optimizer.step()
    print(total.item() / len(batches))


def good_total_of_numbers() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    model, optimizer, batches = accelerator.prepare(model, optimizer, loader())
    total: Any = 0
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        total += loss.detach().float()
        accelerator.backward(loss)
        optimizer.step()
    print(total.item() / len(batches))


def bad_detached_loss() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    model, optimizer, batches = accelerator.prepare(model, optimizer, loader())
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y).detach()  # cause: GS303: `loss` has no graph
        accelerator.backward(loss)
        optimizer.step()


def bad_schedule_before_the_step() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    model, optimizer, batches, schedule = accelerator.prepare(model, optimizer, loader(), schedule)
    for x, y in batches:
        schedule.step()  # cause: GS210
        optimizer.zero_grad()
        accelerator.backward(F.cross_entropy(model(x), y))
        optimizer.step()


def good_saved_and_loaded() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    model, optimizer, batches = accelerator.prepare(model, optimizer, loader())
    for _ in range(2):
        for x, y in batches:
            accelerator.backward(F.cross_entropy(model(x), y))
            optimizer.step()
            optimizer.zero_grad()
        accelerator.save_state("kept")
    accelerator.load_state("kept")
    plain = accelerator.unwrap_model(model)
    plain.eval()
    with torch.no_grad():
        print(plain(torch.randn(4, 6)).argmax(1))


def loop(step: Any, model: Any = None, epochs: int = 2) -> None:
    """A correct loop around what `step` makes of a model and a batch, which is the loss."""
    accelerator, model = Accelerator(cpu=True), network() if model is None else model
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    model, optimizer, batches = accelerator.prepare(model, optimizer, loader())
    for _ in range(epochs):
        for x, y in batches:
            optimizer.zero_grad()
            accelerator.backward(step(model, x, y))
            optimizer.step()


def bad_softmax_before_cross_entropy() -> None:
    def step(model: Any, x: Any, y: Any) -> Any:
        return F.cross_entropy(model(x).softmax(1), y)  # cause: GS702

    loop(step)


def good_cross_entropy() -> None:
    loop(lambda model, x, y: F.cross_entropy(model(x), y, label_smoothing=0.1))


def bad_body_without_gradients() -> None:
    accelerator, body, head = Accelerator(cpu=True), nn.Linear(6, 16), nn.Linear(16, 2)
    optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()])
    body, head, optimizer, batches = accelerator.prepare(body, head, optimizer, loader())
    for _ in range(3):
        for x, y in batches:
            optimizer.zero_grad()
            with torch.no_grad():  # cause: GS301: `body.weight`
                hidden = body(x)
            accelerator.backward(F.cross_entropy(head(hidden.relu()), y))
            optimizer.step()


def good_frozen_body_without_gradients() -> None:
    accelerator, body, head = Accelerator(cpu=True), nn.Linear(6, 16), nn.Linear(16, 2)
    body.requires_grad_(False)
    optimizer = torch.optim.Adam(head.parameters())
    body, head, optimizer, batches = accelerator.prepare(body, head, optimizer, loader())
    for _ in range(3):
        for x, y in batches:
            optimizer.zero_grad()
            with torch.no_grad():
                hidden = body(x)
            accelerator.backward(F.cross_entropy(head(hidden.relu()), y))
            optimizer.step()


def good_cleared_after_the_step() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    model, optimizer, batches = accelerator.prepare(model, optimizer, loader())
    for _ in range(2):
        for x, y in batches:
            accelerator.backward(F.cross_entropy(model(x), y))
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


def good_head_replaced_before_the_optimizer_is_made() -> None:
    model = network()
    model[3] = nn.Linear(16, 2)
    loop(lambda model, x, y: F.cross_entropy(model(x), y), model)


def good_term_of_the_weights() -> None:
    def step(model: Any, x: Any, y: Any) -> Any:
        return F.cross_entropy(model(x), y) + 1e-3 * sum(p.square().sum() for p in model.parameters())

    loop(step)


def good_schedule_after_the_step() -> None:
    accelerator, model = Accelerator(cpu=True), network()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 4)
    model, optimizer, batches, schedule = accelerator.prepare(model, optimizer, loader(), schedule)
    for _ in range(2):
        for x, y in batches:
            optimizer.zero_grad()
            accelerator.backward(F.cross_entropy(model(x), y))
            optimizer.step()
            schedule.step()


def good_gan() -> None:
    accelerator, maker = Accelerator(cpu=True), nn.Linear(2, 6)
    judge = nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(), nn.Linear(8, 1))
    of_maker, of_judge = (torch.optim.Adam(net.parameters(), lr=1e-3) for net in (maker, judge))
    maker, judge, of_maker, of_judge, batches = accelerator.prepare(
        maker, judge, of_maker, of_judge, loader()
    )
    real, made = torch.ones(8, 1), torch.zeros(8, 1)
    for x, _ in batches:
        fake = maker(torch.randn(8, 2))
        of_judge.zero_grad()
        judged, of_fake = judge(x), judge(fake.detach())
        loss = F.binary_cross_entropy_with_logits(judged, real)
        accelerator.backward(loss + F.binary_cross_entropy_with_logits(of_fake, made))
        of_judge.step()
        of_maker.zero_grad()
        accelerator.backward(F.binary_cross_entropy_with_logits(judge(fake), real))
        of_maker.step()


def good_loss_logged_detached() -> None:
    losses: list[Any] = []

    def step(model: Any, x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        losses.append(loss.detach())
        return loss

    loop(step)


def good_two_losses_in_one_pass() -> None:
    loop(lambda model, x, y: F.cross_entropy(model(x), y) + F.cross_entropy(model(x + 0.1), y))
