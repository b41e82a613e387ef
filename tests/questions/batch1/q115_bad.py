import torch
import torch.nn as nn


class MyModel(nn.Module):
    def __init__(self, input_dim, output_dim):
        super().__init__()
        self.input_dim = input_dim
        hidden = 20
        self.w = nn.Parameter(torch.empty(input_dim, hidden).uniform_(0, 1))
        self.b = nn.Parameter(torch.empty(hidden).uniform_(0, 1))
        self.w2 = nn.Parameter(torch.empty(hidden, output_dim).uniform_(0, 1))
        self.b2 = nn.Parameter(torch.empty(output_dim).uniform_(0, 1))

    def forward(self, x):
        x = x.view(x.shape[0], 1, self.input_dim)
        w = self.w.expand(x.shape[0], *self.w.shape)
        out = torch.add(torch.bmm(x, w), self.b)
        w2 = self.w2.expand(x.shape[0], *self.w2.shape)
        out = torch.add(torch.bmm(out, w2), self.b2)
        return torch.sigmoid(out).view(x.shape[0])


def total(model):
    return sum(p.sum().item() for p in model.parameters())


torch.manual_seed(1)
x = torch.rand(300, 12)
y = (x[:, :6].sum(1) > x[:, 6:].sum(1)).float()

model = MyModel(12, 1)
criterion = nn.BCELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = total(model)
for epoch in range(60):
    for start in range(0, 300, 50):
        optimizer.zero_grad()
        loss = criterion(model(x[start : start + 50]), y[start : start + 50])
        loss.backward()
        optimizer.step()
    if epoch % 10 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f}")
print("weights before and after", before, total(model))
