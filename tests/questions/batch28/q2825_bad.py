import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(1)

C, DIM = 4, 10
centers = torch.randn(C, DIM) * 1.1
true_T = torch.tensor([[.60, .40, .00, .00],
                       [.00, .60, .40, .00],
                       [.00, .00, .60, .40],
                       [.40, .00, .00, .60]])


def make(n, noisy):
    y = torch.randint(0, C, (n,))
    x = centers[y] + torch.randn(n, DIM)
    if noisy:
        y = torch.multinomial(true_T[y], 1).squeeze(1)
    return TensorDataset(x, y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(DIM, 32), nn.ReLU())
        self.fc = nn.Linear(32, C)
        self.T_revision = nn.Linear(C, C, False)

    def forward(self, x, revision=False):
        out = self.fc(self.body(x))
        if revision:
            return out, self.T_revision.weight
        return out


class ReweightingRevisionLoss(nn.Module):
    def forward(self, out, T, correction, target):
        loss = 0.
        out_softmax = F.softmax(out, dim=1)
        for i in range(len(target)):
            temp_softmax = out_softmax[i].unsqueeze(0)
            temp = out[i].unsqueeze(0)
            temp_target = target[i].unsqueeze(0)
            pro1 = temp_softmax[:, target[i]]
            T = T + correction
            T_result = T
            out_T = torch.matmul(T_result.t(), temp_softmax.t()).t()
            pro2 = out_T[:, target[i]]
            beta = pro1 / pro2
            cross_loss = F.cross_entropy(temp, temp_target)
            loss = loss + beta * cross_loss
        return (loss / len(target)).squeeze()


def accuracy(model, loader):
    model.eval()
    hit = total = 0
    with torch.no_grad():
        for x, y in loader:
            hit += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return hit / total


train_loader = DataLoader(make(1024, True), batch_size=64, shuffle=True)
test_loader = DataLoader(make(1000, False), batch_size=250)
model = Net()
nn.init.constant_(model.T_revision.weight, 0.0)
T = 0.8 * true_T + 0.2 / C

optimizer = torch.optim.Adam([p for n, p in model.named_parameters() if "T_rev" not in n], lr=3e-3)
for epoch in range(4):
    model.train()
    for x, y in train_loader:
        prob = F.softmax(model(x), dim=1) @ T
        loss = F.nll_loss(prob.log(), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"estimation: loss {loss.item():.4f} clean test acc {accuracy(model, test_loader):.4f}")

criterion = ReweightingRevisionLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(6):
    model.train()
    total = 0.0
    for x, y in train_loader:
        out, correction = model(x, revision=True)
        loss = criterion(out, T, correction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    err = (T + model.T_revision.weight - true_T).abs().sum().item()
    print(f"epoch {epoch} loss {total / len(train_loader):.4f} clean test acc "
          f"{accuracy(model, test_loader):.4f} T error {err:.3f}")

model.eval()
with torch.no_grad():
    for bs in (16, 64, 256):
        losses = []
        for x, y in DataLoader(train_loader.dataset, batch_size=bs):
            out, correction = model(x, revision=True)
            losses.append(criterion(out, T, correction, y).item())
        print(f"loss on the training set with batch size {bs}: {sum(losses) / len(losses):.4f}")
