import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
rng = np.random.default_rng(0)
SHAPES = (rng.random((10, 4, 4)) > 0.55).astype(np.float32).repeat(4, 1).repeat(4, 2)


def render(n, thin, noise):
    labels = rng.integers(0, 10, n)
    images = SHAPES[labels].copy()
    shift = rng.integers(-1, 2, (n, 2))
    images = np.stack([np.roll(im, tuple(s), (0, 1)) for im, s in zip(images, shift)])
    if thin:
        images = images * (0.6 + 0.4 * np.roll(images, 1, 1))
    images = images * rng.uniform(0.7, 1.0, (n, 1, 1)) + noise * rng.random(images.shape)
    return (images.clip(0, 1) * 255).astype(np.uint8), labels


class SourceDigits(Dataset):
    def __init__(self, n):
        self.images, self.labels = render(n, thin=False, noise=0.1)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        x = torch.from_numpy(self.images[i]).float().unsqueeze(0) / 255.0
        return (x - 0.5) / 0.5, int(self.labels[i])


class TargetDigits(Dataset):
    def __init__(self, n):
        self.images, self.labels = render(n, thin=True, noise=0.8)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        x = torch.from_numpy(self.images[i]).float().unsqueeze(0) / 255.0
        return (x - 0.5) / 0.5, int(self.labels[i])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 16, 64)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def accuracy(encoder, classifier, data):
    encoder.eval()
    hits = 0
    with torch.no_grad():
        for x, y in DataLoader(data, batch_size=250):
            hits += (classifier(F.relu(encoder(x))).argmax(1) == y).sum().item()
    encoder.train()
    return hits / len(data)


source, target, target_test = SourceDigits(2000), TargetDigits(2000), TargetDigits(1000)
src_encoder, tgt_encoder = Encoder(), Encoder()
classifier = nn.Linear(64, 10)
opt = torch.optim.Adam(list(src_encoder.parameters()) + list(classifier.parameters()), lr=1e-3)
for epoch in range(4):
    for x, y in DataLoader(source, batch_size=50, shuffle=True):
        loss = F.cross_entropy(classifier(F.relu(src_encoder(x))), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(f"source accuracy {accuracy(src_encoder, classifier, source):.3f}")
print(f"target accuracy, source only {accuracy(src_encoder, classifier, target_test):.3f}")

tgt_encoder.load_state_dict(src_encoder.state_dict())
critic = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
critic_opt = torch.optim.Adam(critic.parameters(), lr=5e-4, betas=(0.5, 0.9))
tgt_opt = torch.optim.Adam(tgt_encoder.parameters(), lr=1e-4, betas=(0.5, 0.9))
for epoch in range(5):
    for (xs, _), (xt, _) in zip(DataLoader(source, 50, shuffle=True), DataLoader(target, 50, shuffle=True)):
        with torch.no_grad():
            fs = src_encoder(xs)
        ft = tgt_encoder(xt)
        both = critic(torch.cat([fs, ft.detach()]))
        domain = torch.cat([torch.ones(len(xs)), torch.zeros(len(xt))]).long()
        critic_loss = F.cross_entropy(both, domain)
        critic_opt.zero_grad()
        critic_loss.backward()
        critic_opt.step()
        fool_loss = F.cross_entropy(critic(tgt_encoder(xt)), torch.ones(len(xt)).long())
        tgt_opt.zero_grad()
        fool_loss.backward()
        tgt_opt.step()
    domain_acc = (both.argmax(1) == domain).float().mean().item()
    print(f"adapt {epoch + 1}: critic {critic_loss.item():.3f} acc {domain_acc:.2f} encoder {fool_loss.item():.3f}")
print(f"target accuracy, adapted {accuracy(tgt_encoder, classifier, target_test):.3f}")
