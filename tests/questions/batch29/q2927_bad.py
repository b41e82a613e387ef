import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, random_split

torch.manual_seed(28)
torch.set_num_threads(1)


class CachedFeatureDataset(Dataset):
    def __init__(self, images, features, flip_prob=0.5, hsv_prob=0.8):
        self.images, self.features = images, features
        self.flip_prob, self.hsv_prob = flip_prob, hsv_prob

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img = self.images[i]
        if torch.rand(1).item() < self.flip_prob:
            img = img.flip(-1)
        if torch.rand(1).item() < self.hsv_prob:
            img = img * (0.5 + torch.rand(3, 1, 1)) + 0.3 * torch.randn(3, 1, 1)
        return img, self.features[i]


def conv(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, 2, 1), nn.ReLU())


teacher = nn.Sequential(conv(3, 16), conv(16, 32), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 24))
student = nn.Sequential(conv(3, 8), conv(8, 16), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 24))

base = torch.rand(400, 3, 4, 4)
images = F.interpolate(base, size=16, mode="bilinear") + 0.05 * torch.randn(400, 3, 16, 16)
with torch.no_grad():
    features = teacher(images)
    features = features - features.mean(0)

dataset = CachedFeatureDataset(images, features)
train_set, val_set = random_split(dataset, [320, 80], generator=torch.Generator().manual_seed(0))
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=40)

optimizer = torch.optim.AdamW(student.parameters(), lr=3e-3)


def validate():
    student.eval()
    with torch.no_grad():
        cos = [F.cosine_similarity(student(x), f).mean().item() for x, f in val_loader]
    return sum(cos) / len(cos)


for epoch in range(8):
    student.train()
    total = 0.0
    for x, f in train_loader:
        cos = F.cosine_similarity(student(x), f).mean()
        optimizer.zero_grad()
        (1 - cos).backward()
        optimizer.step()
        total += cos.item()
    print(f"epoch {epoch}  train cosine {total / len(train_loader):.4f}  val cosine {validate():.4f}")
print("same weights, three validations:", [round(validate(), 4) for _ in range(3)])
