import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class ImageSet(Dataset):
    def __init__(self, images):
        self.images = images

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.images[index]


class LabelSet(Dataset):
    def __init__(self, labels):
        self.labels = labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.labels[index]


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(16 * 3 * 3, classes)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        return self.fc(x.flatten(1))


def make_scans(n, classes=4, size=12):
    labels = torch.randint(0, classes, (n,))
    images = 0.3 * torch.randn(n, 1, size, size)
    for i, label in enumerate(labels.tolist()):
        row, col = divmod(label, 2)
        images[i, 0, 6 * row : 6 * row + 5, 6 * col : 6 * col + 5] += 1.0
    return images, labels


def build_loaders(images, labels, batch_size):
    image_loader = DataLoader(ImageSet(images), batch_size=batch_size, shuffle=True)
    label_loader = DataLoader(LabelSet(labels), batch_size=batch_size, shuffle=True)
    return image_loader, label_loader


def train(model, loaders, epochs):
    image_loader, label_loader = loaders
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        total, hits, count = 0.0, 0, 0
        for x, y in zip(image_loader, label_loader):
            out = model(x)
            loss = loss_fn(out, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            count += len(y)
        print(f"epoch {epoch}: loss {total / count:.4f} acc {hits / count:.3f}")


def main():
    torch.manual_seed(0)
    images, labels = make_scans(512)
    model = Net(classes=4)
    train(model, build_loaders(images, labels, 32), epochs=8)


main()
