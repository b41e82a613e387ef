import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split


class Shapes(Dataset):
    """Small pictures with one of four strokes somewhere in them."""

    def __init__(self, n, generator, spread):
        strokes = torch.tensor(
            [
                [[1, 1, 1], [0, 0, 0], [1, 1, 1]],
                [[1, 0, 1], [1, 0, 1], [1, 0, 1]],
                [[1, 1, 1], [1, 0, 0], [1, 0, 0]],
                [[0, 0, 1], [0, 0, 1], [1, 1, 1]],
            ]
        ).float()
        self.labels = torch.randint(0, 4, (n,), generator=generator)
        self.images = 0.3 * torch.randn(n, 1, 10, 10, generator=generator)
        for image, label in zip(self.images, self.labels):
            row, col = (3 + torch.randint(-spread, spread + 1, (2,), generator=generator)).tolist()
            image[0, row : row + 3, col : col + 3] += strokes[label]
        self.transform = None

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.images[i]
        return (self.transform(image) if self.transform else image), self.labels[i]


def augment(image):
    down, right = torch.randint(-3, 4, (2,)).tolist()
    return torch.roll(image, (down, right), (1, 2)) + 0.2 * torch.randn_like(image)


def get_dataset(generator):
    data = Shapes(500, generator, spread=1)
    train_set, val_set = random_split(data, [400, 100], generator=generator)
    train_set.dataset.transform = augment
    val_set.dataset.transform = None
    return train_set, val_set


def accuracy(model, loader):
    model.eval()
    with torch.no_grad():
        hits = [(model(x).argmax(1) == y).float() for x, y in loader]
    return torch.cat(hits).mean().item()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    train_set, val_set = get_dataset(generator)
    train_loader = DataLoader(train_set, batch_size=50, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=100)
    test_loader = DataLoader(Shapes(500, generator, spread=3), batch_size=250)
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(100, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 4)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(41):
        model.train()
        total = 0.0
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / len(train_loader)
        if epoch % 10 == 0:
            print(
                f"epoch {epoch}: training loss {total:.3f}  validation accuracy {accuracy(model, val_loader):.3f}"
                f"  test accuracy {accuracy(model, test_loader):.3f}"
            )


if __name__ == "__main__":
    main()
