import torch
import torch.nn as nn
import torch.nn.functional as F

PAD = 0


class ValueModel(nn.Module):
    def __init__(self, vocab=20, width=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.decoder = nn.GRU(width, width, batch_first=True)
        self.value_head = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, tokens, lengths):
        hidden, _ = self.decoder(self.embed(tokens))
        last = hidden[torch.arange(len(tokens)), lengths - 1]
        return self.value_head(last).squeeze(1)


def make_data(n, seed):
    """The value of a reply hangs on its last two words and on the first one."""
    g = torch.Generator().manual_seed(seed)
    lengths = torch.randint(3, 40, (n,), generator=g)
    tokens = torch.randint(1, 20, (n, 40), generator=g)
    worth = torch.randn(20, generator=torch.Generator().manual_seed(9))
    rows = torch.arange(n)
    score = (
        worth[tokens[rows, lengths - 1]] + 0.7 * worth[tokens[rows, lengths - 2]] + 0.3 * worth[tokens[:, 0]]
    )
    tokens[torch.arange(40)[None] >= lengths[:, None]] = PAD
    return tokens, lengths, score


def main():
    torch.manual_seed(0)
    tokens, lengths, score = make_data(800, 0)
    held = make_data(300, 1)
    model = ValueModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(4):
        total = 0.0
        for rows in torch.randperm(len(tokens)).split(50):
            loss = F.mse_loss(model(tokens[rows], lengths[rows]), score[rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item() / 16
        with torch.no_grad():
            test = F.mse_loss(model(*held[:2]), held[2]).item()
        print(
            f"epoch {epoch}: value loss {total:.3f}  held out {test:.3f}  (variance {score.var().item():.3f})"
        )


if __name__ == "__main__":
    main()
