import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(21)
PEOPLE = 24
looks = F.interpolate(torch.rand(PEOPLE, 3, 6, 3), size=(24, 12), mode="nearest")


def tracklet(person, n=24):
    crop = looks[person] * (0.7 + 0.6 * torch.rand(n, 1, 1, 1))
    crop = torch.stack([torch.roll(c, (int(torch.randint(-1, 2, (1,))), 0), (1, 2)) for c in crop])
    return crop + 0.15 * torch.randn(n, 3, 24, 12)


bbox_train = {"%04d" % p: tracklet(p) for p in range(16)}
bbox_test = {"%04d" % p: tracklet(p) for p in range(16, 24)}


class PersonFolder(Dataset):
    def __init__(self, root):
        self.classes = sorted(root)
        self.samples = [(img, k) for k, name in enumerate(self.classes) for img in root[name]]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return self.samples[i]


class ReIDNet(nn.Module):
    def __init__(self, num_classes):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 32, 3, 1, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, 1, 1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(64 * 6 * 3, 128), nn.BatchNorm1d(128), nn.ReLU())
        self.classifier = nn.Sequential(nn.Dropout(0.3), nn.Linear(128, num_classes))

    def forward(self, x):
        return self.classifier(self.backbone(x))


train_set = PersonFolder(bbox_train)
val_set = PersonFolder(bbox_test)
num_classes = max(len(train_set.classes), len(val_set.classes))
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=64)
net = ReIDNet(num_classes)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)

for epoch in range(12):
    net.train()
    loss_sum, right = 0.0, 0
    for images, labels in train_loader:
        out = net(images)
        loss = criterion(out, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * len(labels)
        right += (out.argmax(1) == labels).sum().item()
    net.eval()
    v_sum, v_right = 0.0, 0
    with torch.no_grad():
        for images, labels in val_loader:
            out = net(images)
            v_sum += criterion(out, labels).item() * len(labels)
            v_right += (out.argmax(1) == labels).sum().item()
    print("epoch %2d  train loss %.3f acc %.3f   val loss %.3f acc %.3f" % (
        epoch, loss_sum / len(train_set), right / len(train_set), v_sum / len(val_set), v_right / len(val_set)))
