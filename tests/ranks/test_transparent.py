"""Two ranks compute under gradscope what they compute without it, bit by bit, with the same collectives in the same
order."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from needs import lacking
from two_ranks import Ran, Start

PROGRAM = """
import contextlib, io, random

said = io.StringIO()


def net():
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8), nn.Dropout(0.2), nn.Linear(8, 4))


def note(name, model, *numbers):
    state = model.state_dict() if isinstance(model, nn.Module) else model
    whole = [v.full_tensor() if hasattr(v, "full_tensor") else v for v in state.values()]
    bits = [t.detach().double().sum().item().hex() for t in whole]
    print(name, bits, [n.hex() if isinstance(n, float) else n for n in numbers], file=said)


def train(model, steps=12, every=1, step=None, **options):
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    last = 0.0
    for turn in range(steps * every):
        inner = model.no_sync() if every > 1 and (turn + 1) % every else contextlib.nullcontext()
        with inner:
            loss = model(torch.randn(4, 8)).pow(2).mean() / every
            loss.backward()
        if (turn + 1) % every == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        last = loss.item()
    return last, optimizer


def data_parallel():
    note("ddp", *reversed([*train(m := DDP(net()))[:1], m]))
    note("accumulated", *reversed([*train(m := DDP(net()), every=3)[:1], m]))
    note("static", *reversed([*train(m := DDP(net(), static_graph=True, gradient_as_bucket_view=True))[:1], m]))
    m = DDP(net())
    m.register_comm_hook(None, average)
    note("hook", *reversed([*train(m)[:1], m]))


def average(state, bucket):
    whole = bucket.buffer().div_(dist.get_world_size())
    return dist.all_reduce(whole, async_op=True).get_future().then(lambda done: done.value()[0])


def sharded():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (2,))
    model = net()
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    last, optimizer = train(model)
    note("sharded", model, last)
    import torch.distributed.checkpoint as checkpoint

    folder = sys.argv[1]
    checkpoint.save({"model": model.state_dict()}, checkpoint_id=folder)
    checkpoint.load(state := {"model": model.state_dict()}, checkpoint_id=folder)
    note("loaded", state["model"])
    from torch.distributed.checkpoint import state_dict as states

    states.set_state_dict(model, optimizer, **dict(zip(("model_state_dict", "optim_state_dict"),
                                                       states.get_state_dict(model, optimizer))))
    states._patch_model_state_dict(model)
    states._patch_optimizer_state_dict(model, optimizers=optimizer)
    model.load_state_dict(model.state_dict())
    optimizer.load_state_dict(optimizer.state_dict())
    note("loaded anew", model)


def tensor_parallel():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    torch.manual_seed(3)  # the same input on both
    model = parallelize_module(
        nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)), init_device_mesh("cpu", (2,)),
        {"0": ColwiseParallel(), "2": RowwiseParallel()},
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        optimizer.zero_grad()
        model(torch.randn(4, 8)).pow(2).mean().backward()
        optimizer.step()
    note("tensor parallel", model)


rank = begin()
calls = []
for name in ("all_reduce", "broadcast", "all_gather_into_tensor", "reduce_scatter_tensor", "barrier"):
    def counted(*args, real=getattr(dist, name), name=name, **kwargs):
        calls.append(name)
        return real(*args, **kwargs)
    setattr(dist, name, counted)
data_parallel()
if "shards" in sys.argv:
    sharded()
    tensor_parallel()
print("random", torch.rand(1).item().hex(), random.random() if random.seed(1) is None else 0, file=said)
print("collectives", calls, file=said)
open(f"said-{rank}", "w").write(said.getvalue())
end()
"""


@pytest.mark.slow
def test_the_same_bits_and_collectives(ranks: Start, tmp_path: Path) -> None:
    whole = not lacking(PROGRAM)

    def said(how: str) -> tuple[list[str], Ran]:
        ran = ranks(PROGRAM, f"saved-{how}", *(["shards"] if whole else []), how=how, options=("--full",))
        assert ran.status == 0, ran.err
        return [(tmp_path / f"said-{rank}").read_text() for rank in range(2)], ran

    plain, _ = said("plain")
    watched, ran = said("run")
    assert watched == plain
    assert ("sharded" in plain[0] and "tensor parallel" in plain[0]) == whole
    assert not re.search(r"(error|warning|fault)\b.*\[?GS", ran.told), ran.told
    assert "fault" not in ran.told, ran.told
