import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)


class Permutation:
    def __init__(self, size):
        self.perm = torch.randperm(size)

    def __call__(self, sample):
        return sample.flatten()[self.perm].view(sample.shape)


class PermutedDigits(Dataset):
    def __init__(self, images, labels, transform):
        self.images, self.labels, self.transform = images, labels, transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.transform(self.images[index]), self.labels[index]


def make_digits(prototypes, n):
    labels = torch.randint(0, 10, (n,))
    return prototypes[labels] + 0.5 * torch.randn(n, 8, 8), labels


def accuracy(model, loader):
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            right += int((model(x).argmax(1) == y).sum())
            total += len(y)
    return right / total


def main():
    prototypes = torch.randn(10, 8, 8)
    permutation = Permutation(64)
    train_set = PermutedDigits(*make_digits(prototypes, 1200), permutation)
    test_set = PermutedDigits(*make_digits(prototypes, 400), permutation)
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True, num_workers=2)
    test_loader = DataLoader(test_set, batch_size=100, num_workers=2)

    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(4):
        total = 0.0
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(
            f"epoch {epoch}: loss {total / len(train_loader):.3f} test accuracy {accuracy(model, test_loader):.3f}"
        )


if __name__ == "__main__":
    main()
