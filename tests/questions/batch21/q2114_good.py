import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)
torch.set_num_threads(1)

CLASSES, DIM = 5, 32
centers = torch.rand(CLASSES, DIM)


def sample(n):
    y = torch.randint(0, CLASSES, (n,))
    x = (centers[y] + 0.25 * torch.randn(n, DIM)).clamp(0, 1)
    return x, y


def train_classifier(steps=500):
    net = nn.Sequential(nn.Linear(DIM, 128), nn.ReLU(), nn.Linear(128, CLASSES))
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(steps):
        x, y = sample(128)
        loss = F.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net.eval().requires_grad_(False)


def margin(logits, target):
    wanted = logits.gather(1, target[:, None]).squeeze(1)
    others = logits.masked_fill(F.one_hot(target, CLASSES).bool(), -1e4)
    return (others.max(1).values - wanted + 1.0).clamp(min=0)


def attack(net, image, target, steps=600, c=0.5, lr=0.01):
    adv = image.detach().clone()
    adv.requires_grad_(True)
    optimizer = torch.optim.Adam([adv], lr=lr)
    for step in range(steps):
        dist = (adv - image).pow(2).sum(1)
        fool = margin(net(adv), target)
        loss = (dist + c * fool).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 150 == 149:
            print(f"step {step + 1}  loss {loss.item():.4f}  dist {dist.mean().item():.4f}  margin {fool.mean().item():.4f}")
    return adv.detach()


net = train_classifier()
x, y = sample(512)
print(f"clean accuracy {(net(x).argmax(1) == y).float().mean():.3f}")
before = x.numpy().copy()
target = (y + 1 + torch.randint(0, CLASSES - 1, y.shape)) % CLASSES
adv = attack(net, x, target)

print(f"attack success {(net(adv).argmax(1) == target).float().mean():.3f}")
print(f"reported distance {(adv - x).pow(2).sum(1).mean():.4f}")
print(f"distance to the stored images {(adv - torch.from_numpy(before)).pow(2).sum(1).mean():.4f}")
