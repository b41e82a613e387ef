from __future__ import annotations

import contextlib
import copy

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


def bad_no_sync_before_a_step() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        with model.no_sync():
            loss = model(torch.randn(8, 4)).pow(2).mean()  # cause: GS801
            loss.backward()
        opt.step()  # effect: GS801


def bad_weights_set_after_wrapping() -> None:
    model = DistributedDataParallel(net())
    nn.init.normal_(model.module[0].weight)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()  # cause: GS801


def bad_another_rate() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1 * (1 + dist.get_rank()))  # cause: GS801
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()  # effect: GS801


def bad_step_left_out() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    for turn in range(6):
        model(torch.randn(8, 4)).pow(2).mean().backward()
        if turn != 2 or dist.get_rank() == 0:
            opt.step()  # cause: GS801
        opt.zero_grad()


def bad_layer_outside() -> None:
    torch.manual_seed(5)
    scale = nn.Linear(1, 1)  # cause: GS801
    model = DistributedDataParallel(net())
    torch.manual_seed(dist.get_rank())
    opt = torch.optim.SGD([*model.parameters(), *scale.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        scale(model(torch.randn(8, 4))).pow(2).mean().backward()
        opt.step()  # effect: GS801


def good_accumulation() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for turn in range(8):
        last = turn % 2 == 1
        with contextlib.nullcontext() if last else model.no_sync():
            (model(torch.randn(8, 4)).pow(2).mean() / 2).backward()
        if last:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()


def good_model_of_one_rank() -> None:
    """A part of its own on each rank, another one from the beginning (experts)."""
    model = DistributedDataParallel(net())
    expert = nn.Linear(4, 4)
    opt = torch.optim.SGD([*model.parameters(), *expert.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(expert(torch.randn(8, 4))).pow(2).mean().backward()
        opt.step()


def good_static_graph_and_buckets() -> None:
    model = DistributedDataParallel(net(), static_graph=True, gradient_as_bucket_view=True)
    opt = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 2)
    for turn in range(6):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        schedule.step()
        if dist.get_rank() == 0 and turn == 3:
            with torch.no_grad():
                model.module.eval()(torch.randn(2, 4))
            model.module.train()


def good_averaged_in_half_precision() -> None:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    model = DistributedDataParallel(net())
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def bad_steps_of_one_rank() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        if dist.get_rank() == 0:
            opt.step()  # cause: GS801


def bad_converted_after_wrapping() -> None:
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        model = DistributedDataParallel(net())
        model.module.double()  # cause: GS801
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4, dtype=torch.float64)).pow(2).mean().backward()
        opt.step()  # effect: GS801


def average(model: nn.Module, least: int = 0) -> None:
    for p in model.parameters():
        if p.dim() > least:
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()


def bad_averaged_by_hand_and_not_sent() -> None:
    model = nn.Linear(4, 1)  # cause: GS801
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        average(model)
        opt.step()  # effect: GS801


def bad_biases_are_not_averaged() -> None:
    torch.manual_seed(3)
    model = net()
    torch.manual_seed(dist.get_rank())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        average(model, least=1)
        opt.step()  # cause: GS801


def bad_biases_of_larger_gradients_on_one_rank() -> None:
    torch.manual_seed(3)
    model = net()
    torch.manual_seed(dist.get_rank())
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        (3 - 2 * dist.get_rank() - model(torch.randn(8, 4))).pow(2).mean().backward()
        average(model, least=1)
        opt.step()  # cause: GS801


def bad_statistics_drift() -> None:
    layers = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    model = DistributedDataParallel(layers, broadcast_buffers=False)  # cause: GS801
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4) * (1 + dist.get_rank())).pow(2).mean().backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        model(torch.ones(2, 4)).sum().item()  # effect: GS801


def good_statistics_of_one_rank() -> None:
    layers = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    model = DistributedDataParallel(layers, broadcast_buffers=False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    if dist.get_rank() == 0:
        model.eval()
        with torch.no_grad():
            model.module(torch.ones(2, 4)).sum().item()


def good_statistics_averaged_before_an_evaluation() -> None:
    layers = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    model = DistributedDataParallel(layers, broadcast_buffers=False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    for buffer in layers.buffers():
        if buffer.is_floating_point():
            dist.all_reduce(buffer)
            buffer /= dist.get_world_size()
    model.eval()
    with torch.no_grad():
        model.module(torch.ones(2, 4)).sum().item()


def good_uneven_in_join() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        with model.join():
            for _ in range(4 + 2 * dist.get_rank()):
                opt.zero_grad()
                model(torch.randn(8, 4)).pow(2).mean().backward()
                opt.step()


def good_averaged_by_hand() -> None:
    model = net()
    for p in model.parameters():
        dist.broadcast(p.detach(), 0)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        average(model)
        opt.step()


def good_models_of_their_own() -> None:
    """As in a search: each rank trains for itself, on the same data."""
    data = torch.randn(8, 4, generator=torch.Generator().manual_seed(2))
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(data).pow(2).mean().backward()
        opt.step()


def good_averaged_now_and_then() -> None:
    torch.manual_seed(3)
    model = net()
    torch.manual_seed(dist.get_rank())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
            opt.step()
        with torch.no_grad():
            for p in model.parameters():
                dist.all_reduce(p)
                p /= dist.get_world_size()


def bad_loaded_on_one_rank() -> None:
    model = DistributedDataParallel(net())
    if dist.get_rank() == 0:
        model.module.load_state_dict({k: 2 * v for k, v in model.module.state_dict().items()})  # cause: GS801
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()  # effect: GS801


def bad_unfrozen_after_wrapping() -> None:
    layers = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))
    layers[0].requires_grad_(False)
    model = DistributedDataParallel(layers)
    opt = torch.optim.SGD(layers.parameters(), lr=0.1)
    for turn in range(6):
        if turn == 2:
            layers[0].requires_grad_(True)  # cause: GS801
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()  # effect: GS801


def bad_unfrozen_in_a_later_epoch() -> None:
    layers = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))
    for p in layers[0].parameters():
        p.requires_grad_(False)
    model = DistributedDataParallel(layers)
    opt = torch.optim.SGD(layers.parameters(), lr=0.1)
    for epoch in range(4):
        if epoch == 2:
            for p in layers[0].parameters():
                p.requires_grad_(True)  # cause: GS801
        for _ in range(8):
            opt.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
            opt.step()  # effect: GS801


def good_wrapped_again_when_unfrozen() -> None:
    layers = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))
    for p in layers[0].parameters():
        p.requires_grad_(False)
    model = DistributedDataParallel(layers)
    opt = torch.optim.SGD(layers.parameters(), lr=0.1)
    for epoch in range(4):
        if epoch == 2:
            for p in layers[0].parameters():
                p.requires_grad_(True)
            model = DistributedDataParallel(layers)
        for _ in range(8):
            opt.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
            opt.step()


def bad_layer_added_after_wrapping() -> None:
    model = DistributedDataParallel(net())
    torch.manual_seed(1)
    model.module.append(nn.Linear(1, 1))  # cause: GS801
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    for _ in range(6):
        opt.zero_grad()
        (model(torch.randn(8, 4)) - 1).pow(2).mean().backward()
        opt.step()  # effect: GS801


def bad_schedule_of_its_own_loss() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=0)
    for turn in range(8):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()  # effect: GS801
        schedule.step(loss.item() if dist.get_rank() else float(turn))  # cause: GS801


def good_loaded_on_all_ranks() -> None:
    model = DistributedDataParallel(net())
    state = {k: 2 * v for k, v in model.module.state_dict().items()}
    if dist.get_rank() == 0:
        state = {k: v.clone() for k, v in state.items()}
    model.module.load_state_dict(state)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def bad_another_optimizer() -> None:
    model = DistributedDataParallel(net())
    kind = torch.optim.SGD if dist.get_rank() else torch.optim.Adam
    opt = kind(model.parameters(), lr=0.1)  # cause: GS801
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()  # effect: GS801


def bad_layer_drawn_anew() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for turn in range(6):
        if turn == 3:
            nn.init.normal_(model.module[2].weight)  # cause: GS801
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()  # effect: GS801


def good_layer_set_anew_alike() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for turn in range(6):
        if turn == 3:
            nn.init.constant_(model.module[2].weight, 0.1)
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def bad_loaded_from_another_model_of_one_rank() -> None:
    model = DistributedDataParallel(net())
    if dist.get_rank() == 0:
        trained = net().state_dict()
        model.module.load_state_dict(trained)  # cause: GS801
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()  # effect: GS801


def bad_averaged_after_the_step() -> None:
    torch.manual_seed(0)
    model = net()
    torch.manual_seed(torch.distributed.get_rank())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()  # effect: GS801
        for p in model.parameters():
            torch.distributed.all_reduce(p.grad)  # cause: GS801
            assert p.grad is not None
            p.grad /= torch.distributed.get_world_size()


def bad_penalty_after_the_average() -> None:
    def average(model: nn.Module) -> None:
        for p in model.parameters():
            assert p.grad is not None
            dist.all_reduce(p.grad)  # cause: GS801
            p.grad /= dist.get_world_size()

    torch.manual_seed(0)
    model = net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    for _ in range(6):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (model(x) - 1).pow(2).mean().backward()
        average(model)
        (0.1 * model(x + 0.1).abs().mean()).backward()  # effect: GS801
        opt.step()


def bad_noise_of_each_rank() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        for p in model.parameters():
            assert p.grad is not None
            p.grad.add_(torch.randn_like(p.grad), alpha=0.01)  # cause: GS801
        opt.step()  # effect: GS801


def good_noise_of_all_ranks() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    noise = torch.Generator().manual_seed(3)
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        for p in model.parameters():
            assert p.grad is not None
            p.grad.add_(torch.randn(p.shape, generator=noise), alpha=0.01)
        opt.step()


def bad_reentrant_checkpoints_of_one_layer() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.head = nn.Linear(4, 4), nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(2):
                x = checkpoint(self.layer, x, use_reentrant=True)  # cause: GS801
            y: torch.Tensor = self.head(x)
            return y

    model = DistributedDataParallel(Twice())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 4).requires_grad_()).pow(2).mean().backward()
        opt.step()  # effect: GS801


def good_checkpoints_of_one_layer() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.head = nn.Linear(4, 4), nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(2):
                x = checkpoint(self.layer, x, use_reentrant=False)
            y: torch.Tensor = self.head(x)
            return y

    model = DistributedDataParallel(Twice())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def bad_teacher_of_one_rank() -> None:
    torch.manual_seed(0)
    inner = net()
    teacher = copy.deepcopy(inner).requires_grad_(False)
    torch.manual_seed(torch.distributed.get_rank())
    model = DistributedDataParallel(inner)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        x = torch.randn(8, 4)
        target = teacher(x)  # effect: GS801
        (model(x) - target + 1).pow(2).mean().backward()
        opt.step()
        if torch.distributed.get_rank() == 0:
            with torch.no_grad():
                for old, new in zip(teacher.parameters(), inner.parameters(), strict=True):
                    old.lerp_(new, 0.1)  # cause: GS801


def good_teacher_that_is_sent() -> None:
    torch.manual_seed(0)
    inner = net()
    teacher = copy.deepcopy(inner).requires_grad_(False)
    torch.manual_seed(torch.distributed.get_rank())
    model = DistributedDataParallel(inner)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        x = torch.randn(8, 4)
        (model(x) - teacher(x) + 1).pow(2).mean().backward()
        opt.step()
        if torch.distributed.get_rank() == 0:
            with torch.no_grad():
                for old, new in zip(teacher.parameters(), inner.parameters(), strict=True):
                    old.lerp_(new, 0.1)
        for p in teacher.parameters():
            torch.distributed.broadcast(p, 0)


def good_teacher_of_one_rank_for_its_own_evaluation() -> None:
    inner = net()
    teacher = copy.deepcopy(inner).requires_grad_(False)
    model = DistributedDataParallel(inner)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        if torch.distributed.get_rank() == 0:
            with torch.no_grad():
                for old, new in zip(teacher.parameters(), inner.parameters(), strict=True):
                    old.lerp_(new, 0.1)
            teacher(torch.randn(8, 4))


def bad_teacher_made_before_the_wrapper() -> None:
    torch.manual_seed(torch.distributed.get_rank())
    inner = net()
    teacher = copy.deepcopy(inner).requires_grad_(False)  # cause: GS801
    model = DistributedDataParallel(inner)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        x = torch.randn(8, 4)
        with torch.no_grad():
            target = teacher(x)  # effect: GS801
        (model(x) - target + 1).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for old, new in zip(teacher.parameters(), inner.parameters(), strict=True):
                old.lerp_(new, 0.1)


def good_teacher_made_after_the_wrapper() -> None:
    torch.manual_seed(torch.distributed.get_rank())
    inner = net()
    model = DistributedDataParallel(inner)
    teacher = copy.deepcopy(inner).requires_grad_(False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        x = torch.randn(8, 4)
        with torch.no_grad():
            target = teacher(x)
        (model(x) - target + 1).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for old, new in zip(teacher.parameters(), inner.parameters(), strict=True):
                old.lerp_(new, 0.1)


def bad_reduced_to_one_rank() -> None:
    torch.manual_seed(0)
    model = net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        for p in model.parameters():
            dist.reduce(p.grad, dst=0)  # cause: GS801
            p.grad /= dist.get_world_size()
        opt.step()  # effect: GS801


def good_steps_of_one_rank_that_sends_them() -> None:
    torch.manual_seed(0)
    model = net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        for p in model.parameters():
            dist.reduce(p.grad, dst=0)
        opt.step()
        for p in model.parameters():
            dist.broadcast(p.data, 0)


def sharded(model: nn.Module, whole: bool) -> torch.optim.Optimizer:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    fully_shard(model[0], mesh=mesh)
    if whole:
        fully_shard(model, mesh=mesh)
    torch.manual_seed(dist.get_rank())
    return torch.optim.SGD(model.parameters(), lr=0.1)


def bad_sharded_blocks_alone() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))  # cause: GS801
    opt = sharded(model, whole=False)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()  # effect: GS801


def good_sharded_whole() -> None:
    torch.manual_seed(0)
    model = net()
    opt = sharded(model, whole=True)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_weights_averaged_now_and_then() -> None:
    """Local SGD: between two averages the ranks are meant to part."""
    torch.manual_seed(0)
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(1 + dist.get_rank())
    for turn in range(20):
        with model.no_sync():
            opt.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
        if turn % 5 == 4:
            with torch.no_grad():
                for p in model.parameters():
                    dist.all_reduce(p)
                    p.div_(dist.get_world_size())


def bad_copies_of_gradients_averaged() -> None:
    torch.manual_seed(0)
    model = net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1 + dist.get_rank())
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        for p in model.parameters():
            assert p.grad is not None
            mean = p.grad / dist.get_world_size()
            dist.all_reduce(mean)  # cause: GS801
        opt.step()  # effect: GS801


def bad_loaded_into_the_wrapped_model_on_one_rank() -> None:
    trained = net()
    own = torch.optim.Adam(trained.parameters(), lr=0.1)
    for _ in range(12):  # a training of this rank alone: sampling sleeps when the other one begins
        if dist.get_rank() == 0:
            own.zero_grad()
            trained(torch.randn(8, 4)).pow(2).mean().backward()
            own.step()
    model = DistributedDataParallel(net())
    if dist.get_rank() == 0:
        model.module.load_state_dict(trained.state_dict())  # cause: GS801
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()  # effect: GS801


def bad_each_rank_leaves_out_another_step() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    gloss = [0.5, 3.0, 0.5, 0.5, 0.5, 0.5] if dist.get_rank() == 0 else [0.5, 0.5, 0.5, 3.0, 0.5, 0.5]
    for wanted in gloss:
        opt.zero_grad()
        loss = (model(torch.randn(8, 4)) - wanted).pow(2).mean()
        loss.backward()
        if loss.item() < 4:
            opt.step()  # cause: GS801


def good_all_ranks_leave_out_the_same_step() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    gloss = [0.5, 3.0, 0.5, 0.5, 0.5, 0.5] if dist.get_rank() == 0 else [0.5, 0.5, 0.5, 3.0, 0.5, 0.5]
    for wanted in gloss:
        opt.zero_grad()
        loss = (model(torch.randn(8, 4)) - wanted).pow(2).mean()
        loss.backward()
        worst = loss.detach().clone()
        dist.all_reduce(worst, op=dist.ReduceOp.MAX)
        if worst.item() < 4:
            opt.step()


def two_heads() -> nn.ModuleDict:
    torch.manual_seed(0)
    return nn.ModuleDict({"body": nn.Linear(4, 8), "depth": nn.Linear(8, 2), "normal": nn.Linear(8, 2)})


def bad_gradients_of_two_heads_meet() -> None:
    model = two_heads()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1 + dist.get_rank())
    for step in range(6):
        opt.zero_grad()
        head = model[("depth", "normal")[(step + dist.get_rank()) % 2]]
        head(model["body"](torch.randn(8, 4)).relu()).pow(2).mean().backward()
        for p in model.parameters():
            if p.grad is None:
                continue
            dist.all_reduce(p.grad)  # cause: GS801
            p.grad /= dist.get_world_size()
        opt.step()  # effect: GS801


def good_zeros_for_the_head_that_rests() -> None:
    model = two_heads()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1 + dist.get_rank())
    for step in range(6):
        opt.zero_grad()
        head = model[("depth", "normal")[(step + dist.get_rank()) % 2]]
        head(model["body"](torch.randn(8, 4)).relu()).pow(2).mean().backward()
        for p in model.parameters():
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()


def good_all_ranks_take_the_same_head() -> None:
    model = two_heads()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1 + dist.get_rank())
    for step in range(6):
        opt.zero_grad()
        head = model[("depth", "normal")[step % 2]]
        head(model["body"](torch.randn(8, 4)).relu()).pow(2).mean().backward()
        for p in model.parameters():
            if p.grad is None:
                continue
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
        opt.step()


def bad_clipped_on_one_rank_and_the_other_diverges() -> None:
    torch.manual_seed(0)
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    rng = torch.Generator().manual_seed(60 + dist.get_rank())
    for _ in range(10):
        x = 4 * torch.randn(32, 4, generator=rng)
        opt.zero_grad()
        nn.functional.mse_loss(model(x), x.pow(2).sum(1, keepdim=True) * 3).backward()
        if dist.get_rank() == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)  # cause: GS801
        opt.step()  # effect: GS801
