import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, SubsetRandomSampler, TensorDataset

torch.manual_seed(0)


def load_folder(prototypes, per_class=100):
    images, labels = [], []
    for label, prototype in enumerate(prototypes):
        images.append(prototype + 0.8 * torch.randn(per_class, 1, 8, 8))
        labels.append(torch.full((per_class,), label))
    return TensorDataset(torch.cat(images), torch.cat(labels))


def get_loaders(dataset, batch_size=32):
    n_train = len(dataset)
    split = n_train // 2
    indices = torch.randperm(n_train).tolist()
    train_sampler = SubsetRandomSampler(indices[:split])
    valid_sampler = SubsetRandomSampler(indices[split:])
    train_loader = DataLoader(dataset, batch_size=batch_size, sampler=train_sampler)
    valid_loader = DataLoader(dataset, batch_size=batch_size, sampler=valid_sampler)
    return train_loader, valid_loader


class SearchNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU())
        self.cell = nn.Sequential(nn.Conv2d(12, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU())
        self.out = nn.Linear(16 * 16, classes)

    def forward(self, x):
        return self.out(self.cell(self.stem(x)).flatten(1))


def validate(model, loader):
    model.eval()
    loss = right = total = 0
    with torch.no_grad():
        for x, y in loader:
            logits = model(x)
            loss += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            total += len(y)
    return loss / total, right / total


def main():
    dataset = load_folder(torch.randn(6, 1, 8, 8))
    train_loader, valid_loader = get_loaders(dataset)
    model = SearchNet(6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for epoch in range(6):
        model.train()
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        valid_loss, prec1 = validate(model, valid_loader)
        print(f"epoch {epoch}: train loss {loss.item():.3f} valid loss {valid_loss:.3f} prec1 {prec1:.3f}")


if __name__ == "__main__":
    main()
