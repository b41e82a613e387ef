import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


class Encoder(nn.Module):
    def __init__(self, frozen=False):
        super().__init__()
        self.feature_net = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        if frozen:
            self.freeze()

    def freeze(self):
        for module in self.feature_net:
            for param in module.parameters():
                param.requires_grad = False

    def forward(self, x):
        return self.feature_net(x)


class Classifier(nn.Module):
    def __init__(self, encoder, n_class):
        super().__init__()
        self.enc = encoder
        self.logits = nn.Linear(32, n_class)

    def forward(self, x):
        return self.logits(self.enc(x))


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def fit(model, x, y, epochs, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        for idx in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


proj = torch.randn(30, 5)
x_big = torch.randn(3000, 30)
y_big = (x_big @ proj).argmax(1)

source = Classifier(Encoder(), 5)
fit(source, x_big[:2000], y_big[:2000], 20, 1e-3)
print("source accuracy", round(accuracy(source, x_big[2000:], y_big[2000:]), 3))

encoder = Encoder(frozen=True)
encoder.load_state_dict(source.enc.state_dict())
x_new = torch.randn(200, 30)
y_new = (x_new @ proj[:, 0] > x_new @ proj[:, 1]).long()
target = Classifier(encoder, 2)
old = encoder.feature_net[0].weight.detach().clone()
loss = fit(target, x_new, y_new, 60, 5e-3)
print("target loss", round(loss, 4))

source.enc = encoder
print("encoder change", round((encoder.feature_net[0].weight.detach() - old).abs().max().item(), 4))
print("source accuracy with the encoder", round(accuracy(source, x_big[2000:], y_big[2000:]), 3))
