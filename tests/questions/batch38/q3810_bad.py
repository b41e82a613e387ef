import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class ColorSquares(Dataset):
    def __init__(self, inputs, labels, train):
        self.inputs, self.labels, self.train = inputs, labels, train
        self.mean = np.array([0.49, 0.48, 0.44], dtype=np.float32)
        self.std = np.array([0.24, 0.24, 0.26], dtype=np.float32)

    def __len__(self):
        return len(self.labels)

    def transform(self, im):
        for c in range(3):
            im[c] = (im[c] - self.mean[c]) / self.std[c]
        if self.train and np.random.rand() < 0.5:
            im = im[:, :, ::-1].copy()
        return im

    def __getitem__(self, index):
        im = self.inputs[index, ...]
        im = self.transform(im)
        return torch.from_numpy(im), int(self.labels[index])


rng = np.random.default_rng(0)
labels = rng.integers(0, 4, 640)
images = rng.random((640, 3, 8, 8)).astype(np.float32)
for k in range(640):
    images[k, labels[k] % 3, 2:6, 2:6] += 0.25 + 0.25 * (labels[k] // 3)
images = images.clip(0, 1)

np.random.seed(0)
torch.manual_seed(0)
train_set = ColorSquares(images[:512].copy(), labels[:512], True)
test_set = ColorSquares(images[512:].copy(), labels[512:], False)
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
test_loader = DataLoader(test_set, batch_size=64)

model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
criterion = nn.CrossEntropyLoss()
for epoch in range(12):
    model.train()
    total = 0.0
    for im, lab in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(im), lab)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    hits = 0
    with torch.no_grad():
        for im, lab in test_loader:
            hits += (model(im).argmax(1) == lab).sum().item()
    print(f"epoch {epoch} train loss {total / len(train_loader):.4f} test acc {hits / 128:.3f}")
