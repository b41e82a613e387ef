"""More programs of GS603: each bad one is reported at its marks, each good one by no rule."""


def bad_growing_loss() -> None:
    import torch

    w = torch.randn(4, requires_grad=True)
    total = torch.zeros(())
    for _ in range(12):
        w.grad = None
        total = total + (torch.randn(8, 4) @ w).pow(2).mean()  # cause: GS603
        total.backward(retain_graph=True)  # effect: GS603
        assert w.grad is not None
        w.grad.norm().item()


def bad_backward_at_every_tick() -> None:  # fix: by hand
    import torch
    from torch import nn

    cell, head = nn.GRUCell(3, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        h = torch.zeros(2, 4)
        opt.zero_grad()
        for _ in range(8):
            h = cell(torch.randn(2, 3), h)  # cause: GS603
            head(h).pow(2).mean().backward(retain_graph=True)  # effect: GS603
        opt.step()


def bad_summary_made_beside_the_loss() -> None:  # fix: by hand
    import torch
    from torch import nn

    mix = nn.Linear(4, 2)
    opt, summary = torch.optim.SGD(mix.parameters(), lr=0.1), torch.zeros(2)
    for _ in range(2):
        opt.zero_grad()
        for _ in range(8):
            h = torch.tanh(mix(torch.cat([torch.randn(2), summary])))
            summary = 0.9 * summary + 0.1 * h  # cause: GS603
            h.pow(2).mean().backward(retain_graph=True)  # effect: GS603
        opt.step()
        summary = summary.detach()


def bad_updated_by_hand() -> None:  # fix: by hand
    import torch
    from torch import nn

    cell = nn.GRUCell(2, 4)
    weights, h = list(cell.parameters()), torch.zeros(3, 4)
    for _ in range(8):
        h = cell(torch.randn(3, 2), h)  # cause: GS603
        slopes = torch.autograd.grad(h.pow(2).mean(), weights, retain_graph=True)  # effect: GS603
        for p, slope in zip(weights, slopes, strict=True):
            p.data = p.data - 0.1 * slope


def bad_monitor_that_no_pass_goes_through() -> None:
    import torch
    from torch import nn

    class Monitor(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.score = nn.Linear(8, 4), nn.Linear(4, 1)

        def forward(self, x: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            h = torch.tanh(self.cell(torch.cat([x, h], 1)))
            return self.score(h).mean(), h

    monitor, h = Monitor(), torch.zeros(2, 4)
    scores = []
    for _ in range(120):
        score, h = monitor(torch.randn(2, 4), h)  # cause: GS603
        scores.append(score.item())


def bad_lstm_that_no_pass_goes_through() -> None:  # fix: by hand
    import torch
    from torch import nn

    lstm = nn.LSTM(4, 4)
    state = (torch.zeros(1, 2, 4), torch.zeros(1, 2, 4))
    for _ in range(120):
        _, state = lstm(torch.randn(3, 2, 4), state)  # cause: GS603


def good_monitor_that_is_cut() -> None:
    import torch
    from torch import nn

    cell, h = nn.GRUCell(4, 4), torch.zeros(2, 4)
    for _ in range(120):
        h = cell(torch.randn(2, 4), h.detach())


def good_monitor_under_no_grad() -> None:
    import torch
    from torch import nn

    cell, h = nn.GRUCell(4, 4), torch.zeros(2, 4)
    cell.eval()
    with torch.no_grad():
        for _ in range(120):
            h = cell(torch.randn(2, 4), h)


def good_layers_that_call_themselves_anew() -> None:
    import torch
    from torch import nn

    class Deep(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for _ in range(120):
                x = torch.tanh(self.layer(x))
            return x

    deep = Deep()
    for _ in range(4):
        deep(torch.randn(2, 4)).mean().item()


def good_sensitivities_at_every_tick() -> None:
    import torch
    from torch import nn

    cell = nn.GRUCell(2, 4)
    h, found = torch.zeros(3, 4), []
    for _ in range(8):
        h = cell(torch.randn(3, 2), h)
        found.append(
            torch.autograd.grad(h.sum(), list(cell.parameters()), retain_graph=True)[0].norm().item()
        )


def good_sensitivities_of_one_forward() -> None:
    import torch
    from torch import nn

    cell = nn.GRUCell(3, 4)
    h, states = torch.zeros(2, 4), []
    for _ in range(8):
        h = cell(torch.randn(2, 3), h)
        states.append(h)
    found = []
    for state in states:
        cell.zero_grad()
        state.sum().backward(retain_graph=True)
        assert cell.weight_ih.grad is not None
        found.append(cell.weight_ih.grad.norm().item())


def good_one_backward_an_episode() -> None:
    import torch
    from torch import nn

    cell, head = nn.GRUCell(3, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        h, losses = torch.zeros(2, 4), []
        opt.zero_grad()
        for _ in range(8):
            h = cell(torch.randn(2, 3), h)
            losses.append(head(h).pow(2).mean())
        torch.stack(losses).mean().backward()
        opt.step()


def good_truncated() -> None:
    import torch
    from torch import nn

    cell, head = nn.GRUCell(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    h = torch.zeros(2, 4)
    for _ in range(6):
        loss = torch.zeros(())
        for _ in range(5):
            h = cell(torch.randn(2, 4), h)
            loss = loss + head(h).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        h = h.detach()


def good_unrolled_inner_loop() -> None:
    import torch

    w = torch.randn(4, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        fast = w.clone()
        for _ in range(8):
            inner = (torch.randn(8, 4) @ fast).pow(2).mean()
            (g,) = torch.autograd.grad(inner, fast, create_graph=True)
            fast = fast - 0.1 * g
        opt.zero_grad()
        (torch.randn(8, 4) @ fast).pow(2).mean().backward()
        opt.step()


def bad_beside_another_optimizers_steps() -> None:
    import torch
    from torch import nn

    cell, head, other = nn.Linear(8, 4), nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    theirs = torch.optim.SGD(other.parameters(), lr=0.1)
    h = torch.zeros(2, 4)
    for step in range(12):
        opt.zero_grad()
        h = torch.tanh(cell(torch.cat([torch.randn(2, 4), h], dim=1)))  # cause: GS603
        loss = (head(h.detach()).pow(2) + h.pow(2).mean()).mean()
        loss.backward(retain_graph=True)  # effect: GS603
        opt.step()
        for p in cell.parameters():
            p.grad = None
        for _ in range(step % 3):
            theirs.zero_grad()
            other(torch.randn(8, 4)).pow(2).mean().backward()
            theirs.step()


def bad_memory_of_a_policy_that_only_acts() -> None:
    import torch
    from torch import nn

    class Actor(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.head = nn.LSTMCell(3, 4), nn.Linear(4, 2)

        def forward(
            self, x: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]
        ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
            h, c = self.cell(x, state)
            return self.head(h), (h, c)

    torch.manual_seed(0)
    actor = Actor()
    opt = torch.optim.SGD(actor.parameters(), lr=0.1)
    state = (torch.zeros(2, 4), torch.zeros(2, 4))
    for _ in range(12):
        seen = []
        for _ in range(12):
            x = torch.randn(2, 3)
            scores, new_state = actor(x, state)  # cause: GS603
            seen.append((x, scores.argmax(1), state[0].detach(), state[1].detach()))
            state = new_state
        loss = torch.zeros(())
        for x, action, h, c in seen:
            scores, _ = actor(x, (h, c))
            loss = loss + nn.functional.cross_entropy(scores, action)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_memory_of_a_policy_that_is_cut() -> None:
    import torch
    from torch import nn

    class Actor(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.head = nn.LSTMCell(3, 4), nn.Linear(4, 2)

        def forward(
            self, x: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor]
        ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
            h, c = self.cell(x, state)
            return self.head(h), (h, c)

    torch.manual_seed(0)
    actor = Actor()
    opt = torch.optim.SGD(actor.parameters(), lr=0.1)
    state = (torch.zeros(2, 4), torch.zeros(2, 4))
    for _ in range(12):
        seen = []
        for _ in range(12):
            x = torch.randn(2, 3)
            scores, new_state = actor(x, state)
            seen.append((x, scores.argmax(1), state[0].detach(), state[1].detach()))
            state = (new_state[0].detach(), new_state[1].detach())
        loss = torch.zeros(())
        for x, action, h, c in seen:
            scores, _ = actor(x, (h, c))
            loss = loss + nn.functional.cross_entropy(scores, action)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_log_probabilities_of_the_acting_calls_are_trained_on() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(3, 4), nn.Linear(4, 2)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(6):
        state, taken = torch.zeros(2, 4), []
        for _ in range(30):
            state = cell(torch.randn(2, 3), state)
            taken.append(torch.log_softmax(head(state), dim=1)[:, 0])
        opt.zero_grad()
        (-torch.stack(taken).mean()).backward()
        opt.step()
