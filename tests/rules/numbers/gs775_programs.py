"""More programs of GS775: each bad one is reported at its marks, each good one by no rule."""


def bad_lstm_cell() -> None:
    import torch
    from torch import nn

    class Reader(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell, self.head = nn.LSTMCell(4, 8), nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h, c = torch.zeros(len(x), 8), torch.zeros(len(x), 8)
            outputs = []
            for at in range(x.shape[1]):
                new_h, new_c = self.cell(x[:, at], (h, c))  # cause: GS775
                outputs.append(self.head(new_h + 0 * new_c))
            return torch.cat(outputs, 1)

    torch.manual_seed(0)
    reader = Reader()
    opt = torch.optim.Adam(reader.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 5, 4)
        loss = nn.functional.mse_loss(reader(x), x.sum(2).cumsum(1))
        opt.zero_grad()
        loss.backward()  # effect: GS775
        opt.step()


def bad_layer_one_word_at_a_time() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, rnn, head = nn.Embedding(9, 4), nn.GRU(4, 8, batch_first=True), nn.Linear(8, 9)
    opt = torch.optim.Adam([*embed.parameters(), *rnn.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        words, start = torch.randint(0, 9, (16, 6)), torch.randn(1, 16, 8)
        loss = torch.zeros(())
        for at in range(5):
            out, _ = rnn(embed(words[:, at : at + 1]), start)  # cause: GS775
            loss = loss + nn.functional.cross_entropy(head(out[:, 0]), words[:, at + 1])
        opt.zero_grad()
        loss.backward()  # effect: GS775
        opt.step()


def bad_no_state_given() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.GRUCell(4, 8), nn.Linear(8, 2)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 5, 4)
        outputs = [cell(x[:, at]) for at in range(5)]  # cause: GS775
        loss = nn.functional.cross_entropy(head(torch.cat(outputs)), torch.randint(0, 2, (80,)))
        opt.zero_grad()
        loss.backward()  # effect: GS775
        opt.step()


def good_choices_tried_from_one_state() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, value = nn.GRUCell(3, 8), nn.Linear(8, 1)
    opt = torch.optim.Adam([*cell.parameters(), *value.parameters()], lr=0.01)
    actions = torch.eye(3)
    for _ in range(3):
        state = torch.zeros(16, 8)
        for _ in range(2):
            tried = torch.stack([value(cell(action.expand(16, 3), state)) for action in actions])
            best = tried.squeeze(2).argmax(0)
            state = cell(actions[best], state)
        loss = nn.functional.mse_loss(value(state), torch.ones(16, 1)) + tried.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_masked_and_normalised_between() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, norm, head = nn.GRUCell(4, 8), nn.LayerNorm(8), nn.Linear(8, 2)
    opt = torch.optim.Adam([*cell.parameters(), *norm.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        x, there = torch.randn(16, 5, 4), torch.rand(16, 5) < 0.8
        state, outputs = torch.zeros(16, 8), []
        for at in range(5):
            new = norm(cell(x[:, at], state))
            state = torch.where(there[:, at, None], new, state)
            outputs.append(head(state))
        loss = nn.functional.cross_entropy(torch.cat(outputs), torch.randint(0, 2, (80,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_two_directions_and_two_calls() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    cell, head = nn.LSTMCell(4, 8), nn.Linear(16, 2)
    opt = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    for _ in range(3):
        one, two, zero = torch.randn(16, 4), torch.randn(16, 4), torch.zeros(16, 8)
        both = torch.cat([cell(x, (zero, zero))[0] for x in (one, two)], 1)
        loss = nn.functional.cross_entropy(head(both), torch.randint(0, 2, (16,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_a_cell_by_hand() -> None:
    import torch
    from torch import nn

    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.i2h, self.h2h = nn.Linear(2, 8), nn.Linear(8, 8, bias=False)

        def forward(self, given: torch.Tensor, past: torch.Tensor) -> torch.Tensor:
            return torch.tanh(self.i2h(given) + self.h2h(past))

    torch.manual_seed(0)
    cell, read, start = Cell(), nn.Linear(8, 1), nn.Parameter(torch.randn(8))
    opt = torch.optim.Adam([*cell.parameters(), *read.parameters(), start], lr=0.01)
    for _ in range(3):
        series = torch.randn(6, 16, 2)
        h = start.expand(16, -1)
        for row in series.unbind(0):
            now = cell(row, h)  # cause: GS775
        loss = nn.functional.smooth_l1_loss(read(now), series[:, :, :1].sum(0))
        opt.zero_grad()
        loss.backward()  # effect: GS775
        opt.step()


def bad_input_and_state_joined() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Rnn(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.i2h, self.i2o = nn.Linear(12, 8), nn.Linear(12, 3)

        def forward(self, letter: torch.Tensor, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            both = torch.cat((letter, hidden), 1)
            return self.i2o(both), torch.tanh(self.i2h(both))

    torch.manual_seed(0)
    rnn = Rnn()
    opt = torch.optim.SGD(rnn.i2o.parameters(), lr=0.05)
    for _ in range(3):
        name, hidden = torch.randn(5, 16, 4), torch.zeros(16, 8)
        for letter in name:
            output, _ = rnn(letter, hidden)  # cause: GS775
        loss = nn.functional.cross_entropy(output, torch.randint(3, (16,)))
        opt.zero_grad()
        loss.backward()  # effect: GS775
        opt.step()


def good_a_cell_by_hand_and_votes_on_its_last_state() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    i2h, h2h, key, query, vote = (nn.Linear(n, m) for n, m in ((2, 8), (8, 8), (8, 8), (8, 8), (8, 1)))
    read = nn.Linear(8, 1)
    opt = torch.optim.Adam([p for m in (i2h, h2h, key, query, vote, read) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        series, h, states = torch.randn(6, 16, 2), torch.zeros(16, 8), []
        for row in series:
            h = torch.tanh(i2h(row) + h2h(h))
            states.append(h)
        votes = []
        for state in states:
            votes.append(vote(torch.tanh(key(state) + query(h))))
        mixed = (torch.stack(votes).softmax(0) * torch.stack(states)).sum(0)
        loss = nn.functional.smooth_l1_loss(read(mixed), series[:, :, :1].sum(0))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_choices_are_made_of_each() -> None:
    """A loss of the last choice alone, but each is shown."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    see, goal, choose = nn.Linear(4, 8), nn.Linear(3, 8), nn.Linear(8, 2)
    opt = torch.optim.Adam([p for m in (see, goal, choose) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        wanted, shown = torch.randn(16, 3), []
        for frame in torch.randn(5, 16, 4):
            scores = choose(torch.relu(see(frame) + goal(wanted)))
            shown.append(scores.argmax(1))
        loss = nn.functional.cross_entropy(scores, torch.randint(2, (16,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
