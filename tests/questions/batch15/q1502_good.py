import math

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR

LEARNING_RATE = 1e-2
NUM_EPOCH = 16


class TDNN(nn.Module):
    def __init__(self, num_class, input_size=32):
        super().__init__()
        self.td = nn.Sequential(
            nn.Conv1d(input_size, 48, 3),
            nn.ReLU(),
            nn.BatchNorm1d(48),
            nn.Conv1d(48, 48, 3, dilation=2),
            nn.ReLU(),
        )
        self.fc = nn.Linear(48, num_class)

    def forward(self, x):
        return self.fc(self.td(x).mean(dim=2))


def make_audio(n, num_class=6, length=384):
    labels = torch.randint(num_class, (n,))
    t = torch.arange(length) / length
    pitch = 20 + 14 * labels[:, None] + 3 * torch.randn(n, 1)
    wave = torch.sin(2 * math.pi * pitch * t) + 0.5 * torch.sin(4 * math.pi * pitch * t)
    return wave + 2.4 * torch.randn(n, length), labels


def spectrogram(wave):
    spec = torch.stft(wave, n_fft=62, hop_length=32, window=torch.hann_window(62), return_complex=True).abs()
    return torch.log1p(spec)


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        accuracy = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return accuracy


def train():
    torch.manual_seed(0)
    wave, labels = make_audio(900)
    x = spectrogram(wave)
    train_x, train_y, test_x, test_y = x[:600], labels[:600], x[600:], labels[600:]
    model = TDNN(6)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE, weight_decay=1e-6)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.8)
    loss = nn.CrossEntropyLoss()
    for epoch in range(NUM_EPOCH):
        losses = []
        for rows in torch.randperm(len(train_x)).split(16):
            los = loss(model(train_x[rows]), train_y[rows])
            optimizer.zero_grad()
            los.backward()
            optimizer.step()
            losses.append(los.item())
        scheduler.step()
        if epoch % 2 == 1:
            print(
                f"Train epoch {epoch}, loss: {sum(losses) / len(losses):.5f}, lr: {scheduler.get_last_lr()[0]:.6f}, "
                f"test accuracy: {evaluate(model, test_x, test_y):.4f}"
            )


if __name__ == "__main__":
    train()
