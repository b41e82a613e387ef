import argparse
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
torch.manual_seed(0)

parser = argparse.ArgumentParser()
parser.add_argument("--gradient_accumulation_steps", type=int, default=8)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--max_epoch", type=int, default=4)
args = parser.parse_args([])


class Dialogue(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        w = torch.randn(20, 6, generator=torch.Generator().manual_seed(7)) * 0.4
        self.items = []
        for _ in range(n):
            length = int(torch.randint(10, 24, (1,), generator=g))
            audio = torch.randn(length, 20, generator=g)
            motion = torch.tanh(audio @ w)
            motion = 0.6 * motion + 0.4 * torch.roll(motion, 1, 0)
            motion = motion + 0.8 * torch.randn(length, 6, generator=g)
            self.items.append((audio, motion))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class DualModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(20, 32, batch_first=True)
        self.out = nn.Linear(32, 6)

    def forward(self, audio):
        h, _ = self.rnn(audio)
        return self.out(h)


def validate(model, loader, criterion):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for audio, motion in loader:
            total += criterion(model(audio), motion).item()
    return total / len(loader)


train_loader = DataLoader(Dialogue(320, 0), batch_size=1, shuffle=True)
val_loader = DataLoader(Dialogue(80, 1), batch_size=1)
model = DualModel()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

iteration = 0
for epoch in range(args.max_epoch):
    loss_log = []
    model.train()
    optimizer.zero_grad()
    for i, (audio, motion) in enumerate(train_loader):
        iteration += 1
        pred = model(audio)
        loss = criterion(pred, motion)
        optimizer.zero_grad()
        loss.backward()
        loss_log.append(loss.item())
        if i % args.gradient_accumulation_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch} iter {iteration} train {sum(loss_log) / len(loss_log):.4f} "
          f"val {validate(model, val_loader, criterion):.4f}")
