import torch
import torch.nn as nn
import torch.nn.functional as F


class Fusion(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.audio = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
        self.text = nn.Sequential(nn.Linear(20, 32), nn.ReLU())
        self.drop = nn.Dropout(0.5)
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, classes))

    def forward(self, audio, text):
        return self.head(self.drop(torch.cat([self.audio(audio), self.text(text)], dim=1)))


def dataset(n, seed):
    g = torch.Generator().manual_seed(3)
    a, t = torch.randn(4, 12, generator=g), torch.randn(4, 20, generator=g)
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    audio = a[y] + 1.6 * torch.randn(n, 12, generator=g)
    text = t[y] + 1.6 * torch.randn(n, 20, generator=g)
    return audio, text, y


def train(model, train_set, valid_set, epochs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    best = 1e9
    for epoch in range(epochs):
        total = 0.0
        model.train()
        order = torch.randperm(len(train_set[2]))
        for index in order.split(32):
            audio, text, y = (part[index] for part in train_set)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(audio, text), y)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
        model.eval()
        print(f"epoch {epoch} train loss {total / len(order):.4f}")
        with torch.no_grad():
            totalloss, correct = 0.0, 0
            for index in torch.arange(len(valid_set[2])).split(64):
                audio, text, y = (part[index] for part in valid_set)
                out = model(audio, text)
                totalloss += F.cross_entropy(out, y, reduction="sum").item()
                correct += (out.argmax(1) == y).sum().item()
        valloss = totalloss / len(valid_set[2])
        print(f"epoch {epoch} valid loss {valloss:.4f} acc {correct / len(valid_set[2]):.4f}")
        best = min(best, valloss)
    return best


torch.manual_seed(0)
print("best", train(Fusion(), dataset(640, 1), dataset(320, 2), epochs=8))
