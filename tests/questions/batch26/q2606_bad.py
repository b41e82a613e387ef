import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(5)
N_CLASSES = 4


class Tracks(Dataset):
    def __init__(self, n, steps=20):
        self.label = torch.randint(0, N_CLASSES, (n, 1))
        turn = (self.label.float() - 1.5) * 0.12
        heading = torch.rand(n, 1) * 6.28 + torch.cumsum(turn.repeat(1, steps) + 0.1 * torch.randn(n, steps), 1)
        xy = torch.stack([heading.cos(), heading.sin()], -1).cumsum(1) / 5
        self.xy = xy + 0.02 * torch.randn_like(xy)

    def __len__(self):
        return len(self.xy)

    def __getitem__(self, i):
        return self.xy[i, :15], self.xy[i, 15:], self.label[i]


class MultiTaskAE(nn.Module):
    def __init__(self, hidden=40, latent=16):
        super().__init__()
        self.encoder = nn.LSTM(2, hidden, batch_first=True)
        self.to_latent = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, 10))
        self.classifier = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, N_CLASSES))

    def forward(self, past):
        _, (h, _) = self.encoder(past)
        z = self.to_latent(h[-1])
        return self.decoder(z).view(-1, 5, 2), self.classifier(z)


class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=5e-3)
        self.mse = nn.MSELoss()
        self.ce = nn.CrossEntropyLoss()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            total = 0.0
            for past, future, classes in loader:
                pred, logits = self.model(past)
                loss = self.mse(pred, future) + self.ce(logits, classes.view(-1))
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                total += loss.item()
            if epoch % 3 == 2:
                print(f"epoch {epoch + 1} loss {total / len(loader):.4f} train accuracy {self.validate(loader):.3f}")

    def validate(self, loader):
        self.model.eval()
        correct, total = 0, 0
        with torch.no_grad():
            for past, future, classes in loader:
                _, logits = self.model(past)
                predicted = logits.argmax(dim=1)
                correct += (predicted == classes).sum().item()
                total += classes.shape[0]
        return correct / total


train, valid = Tracks(1200), Tracks(400)
trainer = Trainer(MultiTaskAE())
trainer.fit(DataLoader(train, batch_size=20, shuffle=True), 12)
print(f"validation accuracy {trainer.validate(DataLoader(valid, batch_size=20)):.3f}")
