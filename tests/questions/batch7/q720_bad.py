import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


def dice_loss(outputs, target, beta=1.0, eps=1e-5):
    iflat = outputs.flatten(1)
    tflat = target.flatten(1)
    intersection = (iflat * tflat).sum(1)
    denominator = iflat.pow(beta).sum(1) + tflat.pow(beta).sum(1)
    dice = (2.0 * intersection + eps) / (denominator + eps)
    return dice.mean()


class UNetSmall(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.mid = nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.up = nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(width, width, 3, padding=1), nn.ReLU())
        self.out = nn.Conv2d(width + 1, 1, 1)

    def forward(self, x):
        return torch.sigmoid(self.out(torch.cat([self.up(self.mid(self.down(x))), x], dim=1)))


def make_dataset(n=160, size=16):
    masks = torch.zeros(n, 1, size, size)
    for k in range(n):
        y, x = torch.randint(1, size - 6, (2,)).tolist()
        masks[k, 0, y : y + 5, x : x + 5] = 1.0
    return TensorDataset(masks + 0.5 * torch.randn_like(masks), masks)


class EasyTrainer:
    def __init__(self):
        self.nn = UNetSmall()
        self.optimizer = torch.optim.Adam(self.nn.parameters(), lr=3e-3)

    def iteration(self, batch):
        inputs, labels = batch
        out = self.nn(inputs)
        loss = dice_loss(out, labels)
        correct = ((out > 0.5).float() * labels).sum() / labels.sum()
        return loss, correct.item()

    def train(self, loader, epochs=6):
        for epoch in range(1, epochs + 1):
            losses, recalls = 0.0, 0.0
            for batch in loader:
                loss, recall = self.iteration(batch)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                losses += loss.item()
                recalls += recall
            if epoch % 2 == 0:
                print(f"epoch {epoch}: loss {losses / len(loader):.4f} recall {recalls / len(loader):.3f}")


if __name__ == "__main__":
    EasyTrainer().train(DataLoader(make_dataset(), batch_size=16, shuffle=True))
