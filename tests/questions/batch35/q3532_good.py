import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(11)


class Classifier(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        return self.fc(self.body(x))


def saliency_mask(model, x, y, ratio=0.3):
    loss = -F.cross_entropy(model(x), y)
    grads = torch.autograd.grad(loss, list(model.parameters()))
    scores = torch.cat([g.abs().flatten() for g in grads])
    threshold = scores.topk(int(ratio * len(scores))).values[-1]
    return {name: (g.abs() >= threshold).float() for (name, _), g in zip(model.named_parameters(), grads)}


def pretrain(model, x, y):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(200):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()


def unlearn(model, mask, forget, retain, epochs=100):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-3)
    theta0 = {name: param.detach().clone() for name, param in model.named_parameters()}
    for epoch in range(epochs):
        noise_labels = torch.randint(0, 4, (len(forget[0]),))
        loss = F.cross_entropy(model(forget[0]), noise_labels) + F.cross_entropy(model(retain[0]), retain[1])
        optimizer.zero_grad()
        loss.backward()
        for name, param in model.named_parameters():
            param.grad *= mask[name]
        optimizer.step()
        with torch.no_grad():
            for name, param in model.named_parameters():
                param.copy_(torch.where(mask[name] > 0, param, theta0[name]))
                optimizer.state[param]["momentum_buffer"] *= mask[name]
        if epoch % 20 == 0:
            print(f"epoch {epoch}: loss {loss.item():.4f}")


def accuracy(model, data):
    with torch.no_grad():
        return (model(data[0]).argmax(1) == data[1]).float().mean().item()


def main():
    centers = torch.randn(5, 20) * 1.5
    y = torch.randint(0, 5, (1000,))
    x = centers[y] + torch.randn(1000, 20)
    model = Classifier()
    pretrain(model, x, y)
    forget, retain = (x[y == 4], y[y == 4]), (x[y != 4], y[y != 4])
    mask = saliency_mask(model, *forget)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    unlearn(model, mask, forget, retain)
    drift = max(((p - before[n]).abs() * (1 - mask[n])).max().item() for n, p in model.named_parameters())
    print(f"forget accuracy {accuracy(model, forget):.3f} retain accuracy {accuracy(model, retain):.3f}")
    print(f"largest change of a masked weight {drift:.5f}")


main()
