import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(11)
device = torch.device("cpu")
ACTIONS = ["walk", "run", "jump", "sit"]
FRAMES, SIZE = 5, 16


class ClipDataset(Dataset):
    patterns = torch.randn(len(ACTIONS), FRAMES, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(2))

    def __init__(self, n):
        self.kinds = torch.randint(0, len(ACTIONS), (n,)).tolist()
        self.noise = 6.0 * torch.randn(n, FRAMES, 3, SIZE, SIZE)

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, idx):
        kind = self.kinds[idx]
        clip = self.patterns[kind] + self.noise[idx]
        target = [0.0, 0.0, 0.0, 0.0]
        target[kind] = 1.0
        return clip, target


train_loader = DataLoader(ClipDataset(1200), batch_size=4, shuffle=True)
test_loader = DataLoader(ClipDataset(400), batch_size=4)


class ClipNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.frame = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
        )
        self.rnn = nn.GRU(16 * 16, 32, batch_first=True)
        self.head = nn.Linear(32, len(ACTIONS))

    def forward(self, clips):
        b, t = clips.shape[:2]
        feats = self.frame(clips.flatten(0, 1)).view(b, t, -1)
        out, _ = self.rnn(feats)
        return self.head(out[:, -1])


model = ClipNet().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(5):
    model.train()
    running = 0.0
    for clips, targets in train_loader:
        clips = clips.to(device)
        targets = torch.stack([t.float().to(device) for t in targets])
        loss = F.cross_entropy(model(clips), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch} loss {running / len(train_loader):.4f}")

model.eval()
kinds, preds = test_loader.dataset.kinds, []
with torch.no_grad():
    for clips, _ in test_loader:
        preds += model(clips.to(device)).argmax(1).tolist()
hits = sum(p == k for p, k in zip(preds, kinds))
print(f"test accuracy {hits / len(kinds):.4f}")
