"""More programs of GS336: each bad one is reported at its marks, each good one by no rule."""


def bad_several_at_once() -> None:
    import torch
    from torch import nn

    class Memory:
        def __init__(self) -> None:
            self.states, self.ends = torch.zeros(6, 3, 2), torch.zeros(6, 3)

    torch.manual_seed(0)
    value, memory = nn.Linear(2, 1), Memory()
    opt = torch.optim.SGD(value.parameters(), lr=0.05)
    state, end = torch.randn(3, 2), torch.zeros(3)
    for _ in range(4):
        for t in range(6):
            memory.states[t], memory.ends[t] = state, end  # effect: GS336
            with torch.no_grad():
                guess = value(state).squeeze(-1)
            state, end = torch.randn(3, 2), (guess + torch.randn(3) > 1).float()
            memory.ends[t] = end  # cause: GS336
        wanted = memory.states.sum(-1) * (1 - memory.ends)
        loss = (value(memory.states).squeeze(-1) - wanted).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_row_refined() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        rows = torch.zeros(6, 3)
        for i in range(6):
            rows[i] = torch.randn(3)
            rows[i] = rows[i] / rows[i].norm()
        opt.zero_grad()
        (model(rows).squeeze(-1) - rows.sum(-1)).pow(2).mean().backward()
        opt.step()


def good_default_replaced() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, missing = nn.Linear(3, 1), torch.full((3,), -1.0)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(4):
        rows = torch.zeros(6, 3)
        for i in range(6):
            rows[i] = missing
            rows[i] = torch.randn(3)
        opt.zero_grad()
        (model(rows).squeeze(-1) - rows.sum(-1)).pow(2).mean().backward()
        opt.step()


def good_expert_acts_instead() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(2, 2)
    opt = torch.optim.SGD(policy.parameters(), lr=0.05)
    for _ in range(4):
        states, actions = torch.zeros(6, 3, 2), torch.zeros(6, 3, dtype=torch.long)
        for t in range(6):
            states[t] = torch.randn(3, 2)
            with torch.no_grad():
                actions[t] = policy(states[t]).argmax(1)
            actions[t] = (states[t].sum(-1) > 0).long()
        opt.zero_grad()
        nn.functional.cross_entropy(policy(states).flatten(0, 1), actions.flatten()).backward()
        opt.step()


def good_next_row() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Linear(2, 1)
    opt = torch.optim.SGD(value.parameters(), lr=0.05)
    state = torch.randn(3, 2)
    for _ in range(4):
        states = torch.zeros(7, 3, 2)
        for t in range(6):
            states[t] = state
            state = torch.randn(3, 2)
            states[t + 1] = state
        wanted = states[1:].sum(-1)
        opt.zero_grad()
        (value(states[:-1]).squeeze(-1) - wanted).pow(2).mean().backward()
        opt.step()


def good_read_in_between() -> None:
    import torch
    from torch import nn

    def act(value: nn.Module) -> torch.Tensor:
        with torch.no_grad():
            return 0.01 * value(states).sum() + torch.randn(3, 2)

    torch.manual_seed(0)
    value = nn.Linear(2, 1)
    opt = torch.optim.SGD(value.parameters(), lr=0.05)
    state = torch.randn(3, 2)
    for _ in range(4):
        states = torch.zeros(6, 3, 2)
        for t in range(6):
            states[t] = state
            state = act(value)
            states[t] = state
        opt.zero_grad()
        (value(states).squeeze(-1) - states.sum(-1)).pow(2).mean().backward()
        opt.step()


def good_overwritten_now_and_then() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Linear(2, 1)
    opt = torch.optim.SGD(value.parameters(), lr=0.05)
    state = torch.randn(3, 2)
    for _ in range(4):
        states = torch.zeros(6, 3, 2)
        for t in range(6):
            states[t] = state
            state = torch.randn(3, 2)
            if t == 5:
                states[t] = state
        opt.zero_grad()
        (value(states).squeeze(-1) - states.sum(-1)).pow(2).mean().backward()
        opt.step()


def good_shared_with_numpy() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)
    value, seen = nn.Linear(2, 1), 0.0
    opt = torch.optim.SGD(value.parameters(), lr=0.05)
    array = np.zeros((6, 3, 2), dtype=np.float32)
    states, state = torch.from_numpy(array), torch.randn(3, 2)
    for _ in range(4):
        for t in range(6):
            states[t] = state
            seen += array[t].sum()
            state = torch.randn(3, 2)
            states[t] = state
        opt.zero_grad()
        (value(states).squeeze(-1) - states.sum(-1)).pow(2).mean().backward()
        opt.step()
    print(seen)


def bad_two_methods_copy_to_one_row() -> None:
    import torch
    from torch import nn

    class Store:
        def __init__(self, length: int, tanks: int) -> None:
            self.level, self.pay, self.first = (torch.zeros(length, tanks) for _ in range(3))

        def open_turn(self, t: int, level: torch.Tensor, first: torch.Tensor) -> None:
            self.level[t].copy_(level)
            self.first[t].copy_(first)  # effect: GS336

        def close_turn(self, t: int, pay: torch.Tensor, first: torch.Tensor) -> None:
            self.pay[t].copy_(pay)
            self.first[t].copy_(first)  # cause: GS336

    torch.manual_seed(38)
    judge = nn.Linear(1, 1)
    opt = torch.optim.SGD(judge.parameters(), lr=0.05)
    level, first = torch.randn(8), torch.ones(8)
    for _ in range(3):
        store = Store(12, 8)
        for t in range(12):
            store.open_turn(t, level, first)
            level = 0.9 * level + 0.3 * torch.randn(8)
            pay = -level.abs()
            first = (torch.rand(8) < 0.1).float()
            store.close_turn(t, pay, first)
        with torch.no_grad():
            ahead = judge(store.level[1:, :, None]).squeeze(-1)
        wanted = store.pay[:-1] + 0.95 * (1 - store.first[1:]) * ahead
        loss = (judge(store.level[:-1, :, None]).squeeze(-1) - wanted).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_two_methods_copy_to_two_rows() -> None:
    import torch
    from torch import nn

    class Store:
        def __init__(self, length: int, tanks: int) -> None:
            self.level, self.pay, self.first = (torch.zeros(length + 1, tanks) for _ in range(3))

        def begin_turn(self, t: int, level: torch.Tensor, first: torch.Tensor) -> None:
            self.level[t].copy_(level)
            self.first[t].copy_(first)

        def end_turn(self, t: int, pay: torch.Tensor, first: torch.Tensor) -> None:
            self.pay[t].copy_(pay)
            self.first[t + 1].copy_(first)

    torch.manual_seed(38)
    judge = nn.Linear(1, 1)
    opt = torch.optim.SGD(judge.parameters(), lr=0.05)
    level, first = torch.randn(8), torch.ones(8)
    for _ in range(3):
        store = Store(12, 8)
        for t in range(12):
            store.begin_turn(t, level, first)
            level = 0.9 * level + 0.3 * torch.randn(8)
            pay = -level.abs()
            first = (torch.rand(8) < 0.1).float()
            store.end_turn(t, pay, first)
        with torch.no_grad():
            ahead = judge(store.level[1:12, :, None]).squeeze(-1)
        wanted = store.pay[:11] + 0.95 * (1 - store.first[1:12]) * ahead
        loss = (judge(store.level[:11, :, None]).squeeze(-1) - wanted).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
