import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(31)


class GLULayer(nn.Module):
    def __init__(self, fc, bn, hidden):
        super().__init__()
        self.fc, self.bn, self.hidden = fc, bn, hidden

    def forward(self, x):
        x = self.bn(self.fc(x))
        return x[:, : self.hidden] * torch.sigmoid(x[:, self.hidden :])


class FeatTransformer(nn.Module):
    def __init__(self, shared_fc, shared_bn, hidden):
        super().__init__()
        self.shared = GLULayer(shared_fc, shared_bn, hidden)
        self.specific = GLULayer(nn.Linear(hidden, 2 * hidden), nn.BatchNorm1d(2 * hidden), hidden)

    def forward(self, x):
        x = self.shared(x)
        return (x + self.specific(x)) * 0.7


class TabNet(nn.Module):
    def __init__(self, input_dim, output_dim, hidden=16, n_steps=3):
        super().__init__()
        self.n_steps = n_steps
        shared_fc = nn.Linear(input_dim, 2 * hidden)
        self.transformers = nn.ModuleList()
        for _ in range(n_steps):
            self.transformers.append(FeatTransformer(shared_fc, nn.BatchNorm1d(2 * hidden), hidden))
        self.attention = nn.ModuleList(nn.Linear(hidden, input_dim) for _ in range(n_steps - 1))
        self.final = nn.Linear(hidden, output_dim)

    def forward(self, x):
        mask = torch.ones_like(x)
        total = 0
        for step in range(self.n_steps):
            d = self.transformers[step](x * mask)
            total = total + F.relu(d)
            if step + 1 < self.n_steps:
                mask = torch.softmax(3 * self.attention[step](d), dim=1)
        return self.final(total)


X = torch.randn(2000, 16) * torch.linspace(0.5, 3, 16) + torch.linspace(-4, 4, 16)
y = (X[:, 0] * X[:, 1] > 2 * X[:, 2]).long() + 2 * (X[:, 9] > 0.8).long()
X_train, y_train, X_valid, y_valid = X[:1600], y[:1600], X[1600:], y[1600:]
model = TabNet(16, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(15):
    model.train()
    for batch in torch.randperm(len(X_train)).split(200):
        loss = F.cross_entropy(model(X_train[batch]), y_train[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        accuracy = (model(X_valid).argmax(1) == y_valid).float().mean().item()
        train_accuracy = (model(X_train).argmax(1) == y_train).float().mean().item()
    print(f"epoch {epoch}: loss {loss.item():.4f} accuracy train {train_accuracy:.3f} valid {accuracy:.3f}")
