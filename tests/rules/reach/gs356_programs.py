from __future__ import annotations


def bad_bag_of_words() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(12, 16)
            layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
            self.head = nn.Linear(16, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = self.embed(x) * 4
            hidden = self.encoder(hidden)  # cause: GS356
            result: torch.Tensor = self.head(hidden.mean(1))
            return result

    torch.manual_seed(0)
    net = Net()
    adam = torch.optim.Adam(net.parameters(), lr=0.001)
    for _ in range(120):
        words = torch.randint(0, 12, (32, 8))
        label = (words[:, 0] < words[:, 7]).long()
        adam.zero_grad()
        nn.functional.cross_entropy(net(words), label).backward()  # effect: GS356
        adam.step()


def good_set_of_words_that_is_learned() -> None:
    import torch
    from torch import nn

    """The label does not hang on the order."""
    torch.manual_seed(0)
    table, layer, last = (
        nn.Embedding(6, 16),
        nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True),
        nn.Linear(16, 2),
    )
    parts = (table, layer, last)
    opt = torch.optim.Adam([p for part in parts for p in part.parameters()], lr=0.003)
    for _ in range(150):
        items = torch.randint(0, 6, (32, 8))
        many = ((items == 0).sum(1) > 1).long()
        opt.zero_grad()
        nn.functional.cross_entropy(last(layer(table(items)).mean(1)), many).backward()
        opt.step()


def good_recurrent_before_the_attention() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    look, gru, attends = (
        nn.Embedding(12, 16),
        nn.GRU(16, 16, batch_first=True),
        nn.MultiheadAttention(16, 2, batch_first=True),
    )
    out = nn.Linear(16, 2)
    parts = (look, gru, attends, out)
    opt = torch.optim.Adam([p for part in parts for p in part.parameters()], lr=1e-5)
    for _ in range(120):
        read = torch.randint(0, 12, (32, 8))
        wanted = (read[:, 0] < read[:, 7]).long()
        states, _ = gru(look(read))
        mixed, _ = attends(states, states, states)
        opt.zero_grad()
        nn.functional.cross_entropy(out(mixed.mean(1)), wanted).backward()
        opt.step()
