from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def bad_a_loss_function_divided_in_place() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(3, (8,)))
        loss /= dist.get_world_size()  # cause: GS807
        loss.backward()  # effect: GS807
        opt.step()


def bad_summed_in_each_pass() -> None:
    torch.manual_seed(0)
    model = net()
    for p in model.parameters():
        p.register_post_accumulate_grad_hook(lambda p: dist.all_reduce(p.grad))  # cause: GS807
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    for _ in range(4):
        opt.zero_grad()
        for _ in range(2):
            (nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(3, (8,))) / 2).backward()
        for p in model.parameters():
            p.grad /= dist.get_world_size()  # type: ignore[operator]
        opt.step()


def good_averaged_in_each_pass() -> None:
    torch.manual_seed(0)
    model = net()

    def average(p: torch.Tensor) -> None:
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()  # type: ignore[operator]

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(average)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    for _ in range(4):
        opt.zero_grad()
        for _ in range(2):
            (nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(3, (8,))) / 2).backward()
        opt.step()


def bad_summed_once_more() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(3, (8,))).backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)  # cause: GS807
        opt.step()


def alike() -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1 + dist.get_rank())
    return model, opt


def bad_summed_by_hand() -> None:
    model, opt = alike()
    for _ in range(6):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(3, (8,))).backward()
        for p in model.parameters():
            dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)  # cause: GS807
        opt.step()  # effect: GS807
        shown = torch.ones(1)
        dist.all_reduce(shown)
        shown /= dist.get_world_size()


def bad_summed_as_one() -> None:
    model, opt = alike()
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(8, 4) + 1).pow(2).mean().backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        flat = torch.cat([g.reshape(-1) for g in gradients])
        dist.all_reduce(flat)  # cause: GS807
        for g, part in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
            g.copy_(part.view_as(g))
        opt.step()  # effect: GS807


def good_summed_and_divided_by_hand() -> None:
    model, opt = alike()
    for _ in range(6):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(3, (8,))).backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()


def good_summed_of_parts() -> None:
    """Each rank's loss is its part of the mean over all."""
    model, opt = alike()
    for _ in range(6):
        opt.zero_grad()
        losses = nn.functional.cross_entropy(
            model(torch.randn(8, 4)), torch.randint(3, (8,)), reduction="none"
        )
        (losses.sum() / (8 * dist.get_world_size())).backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
        opt.step()


def good_summed_with_a_rate_for_it() -> None:
    model, _ = alike()
    opt = torch.optim.SGD(model.parameters(), lr=0.1 / dist.get_world_size())
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(8, 4) + 1).pow(2).mean().backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
        opt.step()


def good_two_passes_before_a_step() -> None:
    """As many as there are ranks."""
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    accumulated = 2
    for turn in range(8):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(3, (8,)))
        (loss / accumulated).backward()
        if turn % accumulated:
            opt.step()
            opt.zero_grad()


def good_mean_over_all_ranks_samples() -> None:
    world = dist.get_world_size()
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        x = torch.randn(8, 4)
        kept = (x[:, 0] > -1).float()
        count = kept.sum()
        dist.all_reduce(count)
        losses = nn.functional.cross_entropy(model(x), torch.randint(3, (8,)), reduction="none")
        ((losses * kept).sum() * world / count).backward()
        opt.step()


def good_sum_divided_by_the_whole_batch() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(3, (8,)), reduction="sum")
        (loss / 8).backward()
        opt.step()


def good_averaged_twice() -> None:
    """For nothing, and for no harm."""
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(3, (8,))).backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()


def good_mean_of_two_losses() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        one = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(3, (8,)))
        two = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(3, (8,)))
        ((one + two) / 2).backward()
        opt.step()
