import torch
import torch.nn as nn

torch.manual_seed(4)
N_MELS, N_FRAMES, N_CLASS = 32, 24, 5


class AudioEncoder(nn.Module):
    def __init__(self, d=64):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Sequential(nn.Linear(16 * (N_MELS // 4), d), nn.ReLU(), nn.Linear(d, d), nn.ReLU())

    def set_trainable(self, trainable=False):
        for p in self.parameters():
            if p.requires_grad:
                p.requires_grad = trainable

    def forward(self, x):
        x = self.features(x).permute(0, 3, 2, 1)
        x = self.fc(x.flatten(2))
        return x.amax(1) + x.mean(1)


class TaskModel(nn.Module):
    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(64, N_CLASS)

    def forward(self, x):
        return self.head(self.encoder(x))


def spectrograms(n):
    y = torch.randint(0, N_CLASS, (n,))
    f = torch.arange(N_MELS).view(1, -1, 1).float()
    t = torch.arange(N_FRAMES).view(1, 1, -1).float()
    slope = (y.float() - 2).view(-1, 1, 1) * 0.35
    start = torch.randint(6, N_MELS - 6, (n, 1, 1)).float()
    ridge = torch.exp(-0.5 * ((f - start - slope * (t - N_FRAMES / 2)) / 1.2) ** 2)
    return (ridge + 0.35 * torch.randn(n, N_MELS, N_FRAMES)).unsqueeze(1), y


def run_epochs(model, x, y, lr, epochs, tag):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(64):
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        print(f"{tag} epoch {epoch}  loss {total / len(x):.3f}  accuracy {accuracy(model):.3f}")


def accuracy(model):
    model.eval()
    with torch.no_grad():
        return (model(x_val).argmax(1) == y_val).float().mean().item()


x_train, y_train = spectrograms(1024)
x_val, y_val = spectrograms(512)
encoder = AudioEncoder()
model = TaskModel(encoder)

encoder.set_trainable(False)
run_epochs(model, x_train, y_train, lr=3e-3, epochs=5, tag="linear")

encoder.set_trainable(True)
run_epochs(model, x_train, y_train, lr=1e-3, epochs=10, tag="finetune")

print(f"final validation accuracy {accuracy(model):.4f}")
