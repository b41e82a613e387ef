"""More programs of GS365: each bad one is reported at its marks, each good one by no rule."""


def bad_in_the_call_itself() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.RNNCell(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x, state = torch.randn(16, 6, 4), torch.zeros(16, 8)
        for t in range(6):
            state = cell(x[:, t], state.detach())  # cause: GS365
        loss = (head(state).squeeze(1) - x[:, 0, 0]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_loss_at_each_place() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 1)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        x, state, loss = torch.randn(16, 6, 4), torch.zeros(16, 8), torch.zeros(())
        for t in range(6):
            state = cell(x[:, t], state.detach())
            loss = loss + (head(state).squeeze(1) - x[:, t, 0]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_taken_by_a_function() -> None:
    from typing import Any

    import torch
    from torch import nn

    def repackage(hidden: Any) -> Any:
        return (
            hidden.detach() if isinstance(hidden, torch.Tensor) else tuple(repackage(one) for one in hidden)
        )

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.out = nn.LSTMCell(4, 8), nn.Linear(8, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = torch.zeros(len(x), 8), torch.zeros(len(x), 8)
            for place in x.unbind(1):
                hidden = repackage(hidden)  # cause: GS365
                hidden = self.cell(place, hidden)  # effect: GS365
            return self.out(hidden[0])

    torch.manual_seed(0)
    model = Reader()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(6, 5, 4)), torch.randint(0, 2, (6,))).backward()
        opt.step()


def bad_cell_by_hand() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, out = nn.Linear(4 + 8, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.1)
    for _ in range(3):
        state = torch.zeros(6, 8)
        for place in torch.randn(5, 6, 4):
            joined = torch.cat([place, state.data], dim=1)  # cause: GS365
            state = torch.tanh(cell(joined))  # effect: GS365
        opt.zero_grad()
        nn.functional.cross_entropy(out(state), torch.randint(0, 2, (6,))).backward()
        opt.step()


def good_made_better_step_by_step() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, out = nn.Linear(4 + 8, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([*layer.parameters(), *out.parameters()], lr=0.1)
    for _ in range(3):
        x, z = torch.randn(6, 4), torch.zeros(6, 8)
        for _ in range(5):
            z = torch.tanh(layer(torch.cat([x, z.detach()], dim=1)))
        opt.zero_grad()
        nn.functional.cross_entropy(out(z), torch.randint(0, 2, (6,))).backward()
        opt.step()


def bad_product_with_a_weight() -> None:
    import torch
    from torch import nn

    class Elman(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside, self.memory = nn.Parameter(torch.randn(3, 12) * 0.3), nn.Parameter(torch.eye(12))
            self.shift, self.decide = nn.Parameter(torch.zeros(12)), nn.Linear(12, 2)

        def forward(self, frames: torch.Tensor) -> torch.Tensor:
            state = frames.new_zeros(len(frames), 12)
            for frame in frames.unbind(1):
                back = torch.mm(state.detach(), self.memory)  # cause: GS365
                state = torch.tanh(back + self.shift + frame @ self.inside)
            return self.decide(state)

    torch.manual_seed(0)
    net = Elman()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        frames = torch.randn(20, 8, 3)
        loss = nn.functional.cross_entropy(net(frames), (frames[:, 0, 0] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_pieces_of_a_stream() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inside, memory = nn.Parameter(torch.randn(3, 12) * 0.3), nn.Parameter(torch.eye(12))
    decide = nn.Linear(12, 2)
    opt = torch.optim.SGD([inside, memory, *decide.parameters()], lr=0.1)
    stream, state = torch.randn(20, 32, 3), torch.zeros(20, 12)
    for piece in stream.split(8, dim=1):
        state = state.detach()
        for frame in piece.unbind(1):
            state = torch.tanh(state @ memory + frame @ inside)
        loss = nn.functional.cross_entropy(decide(state), (piece[:, 0, 0] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
