"""More programs of GS110: each bad one is reported at its marks, each good one by no rule."""


def bad_target_is_the_network() -> None:  # fix: by hand
    import torch
    from torch import nn

    online = nn.Linear(4, 2)
    target = online
    opt = torch.optim.SGD(online.parameters(), lr=0.1)
    for step in range(6):
        value = online(torch.randn(8, 4)).max(dim=1).values
        with torch.no_grad():
            then = target(torch.randn(8, 4)).max(dim=1).values
        opt.zero_grad()
        nn.functional.mse_loss(value, 1 + 0.9 * then).backward()
        opt.step()
        if step % 2:
            target.load_state_dict(online.state_dict())  # cause: GS110


def bad_first_state_for_each_run() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    first = model.state_dict()  # cause: GS110
    for _ in range(2):
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
        model.load_state_dict(first)  # effect: GS110


def good_target_is_a_copy() -> None:
    import copy

    import torch
    from torch import nn

    online = nn.Linear(4, 2)
    target = copy.deepcopy(online)
    opt = torch.optim.SGD(online.parameters(), lr=0.1)
    for step in range(6):
        value = online(torch.randn(8, 4)).max(dim=1).values
        with torch.no_grad():
            then = target(torch.randn(8, 4)).max(dim=1).values
        opt.zero_grad()
        nn.functional.mse_loss(value, 1 + 0.9 * then).backward()
        opt.step()
        if step % 2:
            target.load_state_dict(online.state_dict())


def good_best_state_cloned() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    best = {name: value.clone() for name, value in model.state_dict().items()}
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        best = {name: value.detach().cpu().clone() for name, value in model.state_dict().items()}
    model.load_state_dict(best)


def good_loaded_once_as_it_is() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    model.load_state_dict(model.state_dict())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def bad_target_network_made_the_online_one() -> None:
    import copy

    import torch
    from torch import nn

    class Agent:
        def __init__(self) -> None:
            self.online = nn.Linear(4, 2)
            self.target = copy.deepcopy(self.online)
            self.opt = torch.optim.SGD(self.online.parameters(), lr=0.05)

        def learn(self) -> None:
            with torch.no_grad():
                best = 0.9 * self.target(torch.randn(8, 4)).max(1)[0]
            loss = (self.online(torch.randn(8, 4)).max(1)[0] - best).pow(2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

        def update_target(self) -> None:
            self.target.load_state_dict(self.online.state_dict())  # effect: GS110
            self.target = self.online  # cause: GS110

    agent = Agent()
    for step in range(12):
        agent.learn()
        if step % 3 == 2:
            agent.update_target()


def bad_the_targets_own_state() -> None:
    import copy

    import torch
    from torch import nn

    online = nn.Linear(3, 2)
    target = copy.deepcopy(online)
    opt = torch.optim.SGD(online.parameters(), lr=0.1)
    for step in range(8):
        with torch.no_grad():
            wanted = torch.randn(8, 1) + 0.9 * target(torch.randn(8, 3)).max(1, keepdim=True).values
        opt.zero_grad()
        (online(torch.randn(8, 3))[:, :1] - wanted).pow(2).mean().backward()
        opt.step()  # effect: GS110
        if step % 2:
            target.load_state_dict(target.state_dict())  # cause: GS110


def bad_best_state_is_saved_at_the_end() -> None:
    import io

    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    best, kept = float("inf"), None
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            score = model(torch.ones(8, 3)).pow(2).mean().item()
        if score < best:
            best, kept = score, model.state_dict()  # cause: GS110
        opt.zero_grad()
        (model(torch.randn(8, 3)) - 1).pow(2).mean().backward()
        opt.step()
    torch.save({"score": best, "model": kept}, io.BytesIO())  # effect: GS110


def good_states_saved_as_they_are() -> None:
    import copy
    import io

    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    living = {"model": model.state_dict(), "optimizer": opt.state_dict()}
    for _ in range(6):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        kept = model.state_dict()
        torch.save(obj=kept, f=io.BytesIO())
        torch.save(living, io.BytesIO())
        for name, value in kept.items():
            kept[name] = value.clone()
        copied = copy.deepcopy(model.state_dict())
        opt.zero_grad()
        (model(torch.randn(8, 3)) - 1).pow(2).mean().backward()
        opt.step()
        torch.save([kept, copied], io.BytesIO())


def bad_average_that_begins_as_the_weights_themselves() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    shadow = {k: v for k, v in model.state_dict().items()}  # noqa: C416  # cause: GS110
    for _ in range(3):
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
            with torch.no_grad():
                for k, v in model.state_dict().items():
                    shadow[k].mul_(0.9).add_(v, alpha=0.1)
        kept = {k: v.clone() for k, v in model.state_dict().items()}
        model.load_state_dict(shadow)  # effect: GS110
        with torch.no_grad():
            model(torch.ones(8, 3)).pow(2).mean()
        model.load_state_dict(kept)


def good_average_that_begins_as_a_copy() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    shadow = {k: v.clone() for k, v in model.state_dict().items()}
    for _ in range(3):
        for _ in range(2):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
            with torch.no_grad():
                for k, v in model.state_dict().items():
                    shadow[k].mul_(0.9).add_(v, alpha=0.1)
        kept = {k: v.clone() for k, v in model.state_dict().items()}
        model.load_state_dict(shadow)
        with torch.no_grad():
            model(torch.ones(8, 3)).pow(2).mean()
        model.load_state_dict(kept)


def good_state_that_is_loaded_as_it_was_taken() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    own = {k: v for k, v in model.state_dict().items() if v.numel()}
    model.load_state_dict(own)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_average_kept_in_place_through_its_state() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Linear(4, 4)
    average = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(16, 4)
        with torch.no_grad():
            wanted = average(x) + x
        opt.zero_grad()
        (model(x) - wanted).pow(2).mean().backward()
        opt.step()
        own, state = average.state_dict(), {}
        for key, value in model.state_dict().items():
            state[key] = own[key].float().mul_(0.9).add_(value, alpha=0.1)
        average.load_state_dict(state, strict=False)


def good_average_written_through_views_of_its_state() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Linear(4, 4)
    average = copy.deepcopy(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(16, 4)
        with torch.no_grad():
            wanted = average(x) + x
        opt.zero_grad()
        (model(x) - wanted).pow(2).mean().backward()
        opt.step()
        state = {key: value.data for key, value in average.state_dict().items()}
        for key, value in model.state_dict().items():
            state[key].copy_(0.9 * state[key] + 0.1 * value)
        average.load_state_dict(state)


def good_average_whose_state_is_kept_all_the_while() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Linear(4, 4)
    average = copy.deepcopy(model)
    state = average.state_dict()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(16, 4)
        with torch.no_grad():
            wanted = average(x) + x
        opt.zero_grad()
        (model(x) - wanted).pow(2).mean().backward()
        opt.step()
        for key, value in model.state_dict().items():
            state[key].mul_(0.9).add_(value, alpha=0.1)
        average.load_state_dict(state)


def good_trained_weights_averaged_in_their_own_state() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        before = copy.deepcopy(model.state_dict())
        for _ in range(3):
            x = torch.randn(16, 4)
            opt.zero_grad()
            (model(x) - x).pow(2).mean().backward()
            opt.step()
        state = model.state_dict()
        for key, value in before.items():
            state[key].lerp_(value, 0.5)
        model.load_state_dict(state)


def bad_moved_to_where_it_is() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Patience:
        def __init__(self, net: nn.Module) -> None:
            self.net, self.lowest = net, float("inf")
            self.snapshot: dict[str, Any] = {}

        def update(self, score: float) -> None:
            if score < self.lowest:
                state = self.net.state_dict()  # cause: GS110
                self.lowest, self.snapshot = score, {k: v.detach().cpu() for k, v in state.items()}

    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    opt = torch.optim.Adam(net.parameters(), lr=0.5)
    patience, x = Patience(net), torch.randn(8, 3)
    for _ in range(12):
        opt.zero_grad()
        loss = (net(x) - 1).abs().mean()
        loss.backward()
        opt.step()
        patience.update(loss.item())
    net.load_state_dict(patience.snapshot)  # effect: GS110


def good_cloned_where_it_is() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Patience:
        def __init__(self, net: nn.Module) -> None:
            self.net, self.lowest = net, float("inf")
            self.snapshot: dict[str, Any] = {}

        def update(self, score: float) -> None:
            if score < self.lowest:
                state = self.net.state_dict()
                self.lowest, self.snapshot = score, {k: v.detach().cpu().clone() for k, v in state.items()}

    torch.manual_seed(0)
    net = nn.Linear(3, 1)
    opt = torch.optim.Adam(net.parameters(), lr=0.5)
    patience, x = Patience(net), torch.randn(8, 3)
    for _ in range(12):
        opt.zero_grad()
        loss = (net(x) - 1).abs().mean()
        loss.backward()
        opt.step()
        patience.update(loss.item())
    net.load_state_dict(patience.snapshot)


def bad_best_weights_are_written_over() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    x, y = torch.randn(24, 6), torch.randn(24, 2)
    best_score, best_weights = float("inf"), None
    for _ in range(6):
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
        with torch.no_grad():
            score = nn.functional.mse_loss(model(torch.randn(24, 6)), y).item()
        if score < best_score:
            best_score, best_weights = score, copy.deepcopy(model.state_dict())
    if best_weights is not None:
        model.state_dict(best_weights)  # cause: GS110


def good_best_weights_are_loaded() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.05)
    x, y = torch.randn(24, 6), torch.randn(24, 2)
    best_score, best_weights = float("inf"), None
    for _ in range(6):
        opt.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        opt.step()
        with torch.no_grad():
            score = nn.functional.mse_loss(model(torch.randn(24, 6)), y).item()
        if score < best_score:
            best_score, best_weights = score, copy.deepcopy(model.state_dict())
    if best_weights is not None:
        model.load_state_dict(best_weights)


def good_states_of_two_parts_in_one_dict() -> None:
    from collections import OrderedDict

    import torch
    from torch import nn

    encoder, decoder = nn.Linear(4, 3), nn.Linear(3, 4)
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.1)
    both: OrderedDict[str, torch.Tensor] = OrderedDict()
    for _ in range(3):
        opt.zero_grad()
        decoder(encoder(torch.randn(8, 4))).pow(2).mean().backward()
        opt.step()
        encoder.state_dict(destination=both, prefix="encoder.")
        decoder.state_dict(destination=both, prefix="decoder.")
    torch.save(both, "/dev/null")
