import torch
from torch import nn

torch.manual_seed(0)

NUM_ENTITIES, NUM_RELATIONS, DIM = 24, 4, 32
LABEL_SMOOTHING = 0.1


class ConvE(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb_e = nn.Embedding(NUM_ENTITIES, DIM)
        self.emb_rel = nn.Embedding(NUM_RELATIONS, DIM)
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8 * 8 * 8, DIM)
        self.bias = nn.Parameter(torch.zeros(NUM_ENTITIES))
        self.loss = nn.BCELoss()

    def forward(self, e1, rel):
        e1 = self.emb_e(e1).view(-1, 1, 4, 8)
        rel = self.emb_rel(rel).view(-1, 1, 4, 8)
        x = torch.cat([e1, rel], 2)
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.fc(x.view(x.size(0), -1)))
        logits = x @ self.emb_e.weight.t() + self.bias
        return torch.sigmoid(logits)


pairs = torch.cartesian_prod(torch.arange(NUM_ENTITIES), torch.arange(NUM_RELATIONS))
tails = (pairs[:, 0] * 5 + pairs[:, 1] * 7 + 3) % NUM_ENTITIES


def multi_hot(batch):
    e2 = torch.zeros(len(batch), NUM_ENTITIES)
    e2[torch.arange(len(batch)), tails[batch]] = 1.0
    return e2


model = ConvE()
opt = torch.optim.Adam(model.parameters(), lr=6e-3)
for epoch in range(100):
    model.train()
    total = 0.0
    for batch in torch.randperm(len(pairs)).split(16):
        opt.zero_grad()
        e2_multi = multi_hot(batch)
        e2_multi = ((1.0 - LABEL_SMOOTHING) * e2_multi) + (LABEL_SMOOTHING / e2_multi.size(1))
        pred = model(pairs[batch, 0], pairs[batch, 1])
        loss = model.loss(pred, e2_multi)
        loss.backward()
        opt.step()
        total += loss.item()
    if epoch % 20 == 19:
        print(f"epoch {epoch}: loss {total / 6:.4f}")

model.eval()
with torch.no_grad():
    pred = model(pairs[:, 0], pairs[:, 1])
    right = pred.gather(1, tails[:, None])
    print(
        f"probability of the right tail {right.mean():.3f}, of the others {(pred.sum() - right.sum()).item() / (96 * 23):.4f}"
    )
