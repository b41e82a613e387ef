import math

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

BATCH_SIZE = 32
EPOCHS = 6
LEARNING_RATE = 0.01
SAMPLE_RATE = 4000
NUM_SAMPLES = 2048
NUM_CLASSES = 10


class ToneDataset(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.targets = torch.randint(0, NUM_CLASSES, (n,), generator=g)
        t = torch.arange(NUM_SAMPLES) / SAMPLE_RATE
        freq = 200.0 + 140.0 * self.targets.float() + 30 * torch.randn(n, generator=g)
        phase = 2 * math.pi * torch.rand(n, generator=g)
        wave = torch.sin(2 * math.pi * freq[:, None] * t + phase[:, None])
        wave = wave + 0.8 * torch.randn(n, NUM_SAMPLES, generator=g)
        spec = torch.stft(wave, 128, 64, window=torch.hann_window(128), return_complex=True).abs() ** 2
        self.spec = spec[:, None]

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        return self.spec[i], self.targets[i]


class CNNNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Sequential(nn.Conv2d(1, 8, 3, stride=1, padding=2), nn.ReLU(), nn.MaxPool2d(2))
        self.conv2 = nn.Sequential(nn.Conv2d(8, 16, 3, stride=1, padding=2), nn.ReLU(), nn.MaxPool2d(2))
        self.conv3 = nn.Sequential(nn.Conv2d(16, 32, 3, stride=1, padding=2), nn.ReLU(), nn.MaxPool2d(2))
        self.flatten = nn.Flatten()
        self.linear = nn.LazyLinear(NUM_CLASSES)

    def forward(self, input_data):
        x = self.conv1(input_data)
        x = self.conv2(x)
        x = self.conv3(x)
        logits = self.linear(self.flatten(x))
        return logits


def train_single_epoch(model, data_loader, loss_fn, optimiser):
    total = 0.0
    for spec, target in data_loader:
        prediction = model(spec)
        loss = loss_fn(prediction, target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        total += loss.item()
    return total / len(data_loader)


def evaluate(model, data_loader):
    model.eval()
    hits = count = 0
    with torch.no_grad():
        for spec, target in data_loader:
            hits += (model(spec).argmax(1) == target).sum().item()
            count += len(target)
    model.train()
    return hits / count


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(ToneDataset(1280, 1), batch_size=BATCH_SIZE, shuffle=True)
    test_loader = DataLoader(ToneDataset(320, 2), batch_size=64)
    cnn = CNNNetwork()
    cnn(next(iter(train_loader))[0])
    loss_fn = nn.CrossEntropyLoss()
    optimiser = torch.optim.Adam(cnn.parameters(), lr=LEARNING_RATE)
    for epoch in range(EPOCHS):
        mean_loss = train_single_epoch(cnn, train_loader, loss_fn, optimiser)
        print(f"epoch {epoch + 1} loss {mean_loss:.4f}")
    print(f"train loss {mean_loss:.4f} test accuracy {evaluate(cnn, test_loader):.3f}")
