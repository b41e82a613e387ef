"""Programs for GS483."""


def bad_flattened_by_torch() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(12, 6)
            self.cell = nn.RNNCell(6, 8)
            self.out = nn.Linear(8, 4)

        def forward(self, words: torch.Tensor) -> torch.Tensor:
            state, states = torch.zeros(words.size(0), 8), []
            for step in range(words.size(1)):
                state = self.cell(self.embed(words[:, step]), state)
                states.append(state)
            flat = torch.vstack(states)  # effect: GS483
            return nn.functional.log_softmax(self.out(flat), dim=1)

    model = Tagger()
    opt = torch.optim.Adam(model.parameters())
    for _ in range(3):
        words = torch.randint(12, (5, 7))
        wanted = words % 4
        loss = nn.functional.nll_loss(model(words), torch.flatten(wanted))  # cause: GS483
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_turned_before() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, rnn, out = nn.Embedding(12, 6), nn.LSTM(6, 8), nn.Linear(8, 4)
    opt = torch.optim.Adam([*embed.parameters(), *rnn.parameters(), *out.parameters()])
    for _ in range(3):
        words = torch.randint(12, (5, 7))
        states, _ = rnn(embed(words.t()))
        scores = out(states.transpose(0, 1).reshape(-1, 8))
        other = out(states).permute(1, 2, 0)
        wanted = words % 4
        loss = nn.functional.cross_entropy(scores, wanted.flatten()) + nn.functional.cross_entropy(
            other, wanted
        )
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_two_views_of_each_sample() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(6, 4)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x, labels = torch.randn(5, 6), torch.randint(4, (5,))
        scores = torch.cat([net(x), net(x + 0.1 * torch.randn_like(x))])
        both = labels.expand(2, 5).reshape(-1)
        loss = nn.functional.cross_entropy(scores, both)
        opt.zero_grad()
        loss.backward()
        opt.step()
