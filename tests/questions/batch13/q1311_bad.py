import torch
import torch.nn as nn
import torch.nn.functional as F


class RetentionTime(nn.Module):
    def __init__(self, amino_acids=21, width=16, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(amino_acids, width, padding_idx=0)
        self.lstm = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)
        self.dense = nn.Linear(2 * hidden, 32)
        self.final = nn.Linear(32, 1)

    def forward(self, peptides):
        _, (h, _) = self.lstm(self.embed(peptides))
        x = F.relu(self.dense(torch.cat([h[0], h[1]], 1)))
        return F.relu(self.final(x)).squeeze(1)


def make_peptides(n, seed):
    g = torch.Generator().manual_seed(seed)
    weight = torch.randn(21, generator=torch.Generator().manual_seed(5))
    lengths = torch.randint(6, 15, (n,), generator=g)
    peptides = torch.randint(1, 21, (n, 15), generator=g)
    peptides[torch.arange(15)[None] >= lengths[:, None]] = 0
    hydrophobicity = (weight[peptides] * (peptides > 0)).sum(1)
    return peptides, 0.5 + 0.08 * hydrophobicity


def main():
    torch.manual_seed(2)
    peptides, times = make_peptides(1000, 0)
    val_peptides, val_times = make_peptides(200, 1)
    model = RetentionTime()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.L1Loss()
    for epoch in range(8):
        model.train()
        total = 0.0
        for rows in torch.randperm(len(peptides)).split(50):
            optimizer.zero_grad()
            loss = criterion(model(peptides[rows]), times[rows])
            loss.backward()
            optimizer.step()
            total += loss.item() / 20
        model.eval()
        with torch.no_grad():
            guess = model(val_peptides)
        error = criterion(guess, val_times).item()
        print(
            f"epoch {epoch}: train {total:.4f}  val {error:.4f}  predictions {guess.min().item():.3f} to {guess.max().item():.3f}"
        )


if __name__ == "__main__":
    main()
