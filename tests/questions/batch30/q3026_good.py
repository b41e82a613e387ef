import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, Sampler

torch.manual_seed(0)
torch.set_num_threads(1)

CLASSES, PER_CLASS, DIM = 12, 40, 16


class Items(Dataset):
    def __init__(self, centers):
        self.labels = torch.arange(CLASSES).repeat_interleave(PER_CLASS)
        self.points = centers[self.labels] + 0.9 * torch.randn(len(self.labels), DIM)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.points[i], self.labels[i]


class GroupedClassBatchSampler(Sampler):
    def __init__(self, labels, classes_per_batch, samples_per_class, batches_per_epoch, seed=0):
        self.classes_per_batch = classes_per_batch
        self.samples_per_class = samples_per_class
        self.batches_per_epoch = batches_per_epoch
        self.seed = seed
        self.epoch = 0
        self.rng = random.Random(seed)
        self.groups = {}
        for i, label in enumerate(labels.tolist()):
            self.groups.setdefault(label, []).append(i)

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return self.batches_per_epoch

    def __iter__(self):
        rng = self.rng
        for _ in range(self.batches_per_epoch):
            batch = []
            for label in rng.sample(sorted(self.groups), self.classes_per_batch):
                batch += rng.sample(self.groups[label], self.samples_per_class)
            yield batch


class Trainer:
    def __init__(self, model, optimizer):
        self.model = model
        self.optimizer = optimizer

    def fit(self, loader, epochs, validate):
        for epoch in range(epochs):
            total = 0.0
            for points, labels in loader:
                loss = F.cross_entropy(self.model(points), labels)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            if epoch % 5 == 4:
                print(f"epoch {epoch + 1}: loss {total / len(loader):.4f} val accuracy {validate():.3f}")


centers = torch.randn(CLASSES, DIM)
train, val = Items(centers), Items(centers)
sampler = GroupedClassBatchSampler(train.labels, classes_per_batch=4, samples_per_class=4, batches_per_epoch=6)
loader = DataLoader(train, batch_sampler=sampler)

model = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, CLASSES))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def validate():
    with torch.no_grad():
        return (model(val.points).argmax(dim=1) == val.labels).float().mean().item()


Trainer(model, optimizer).fit(loader, 40, validate)
