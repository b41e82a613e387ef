import torch
import torch.nn as nn


class ZeroOneLoss(nn.Module):
    def forward(self, output, target):
        wrong = 0
        for p, t in zip(output, target):
            predicted = 1.0 if p.item() > 0 else 0.0
            if predicted != t.item():
                wrong += 1
        return torch.tensor(wrong / len(target), requires_grad=True)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(5, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x))).squeeze(-1)


torch.manual_seed(0)
x = torch.randn(256, 5)
y = (x[:, 0] + x[:, 1] * x[:, 2] > 0).float()

model = Classifier()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(40):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        accuracy = ((model(x) > 0).float() == y).float().mean()
        print(f"epoch {epoch} loss {loss.item():.4f} accuracy {accuracy.item():.3f}")
