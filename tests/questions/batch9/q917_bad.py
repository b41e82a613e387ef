"""Binary emotion recognition (fear or not) from utterance features, with class weights."""

import torch
import torch.nn as nn

torch.manual_seed(0)


class EmotionNet(nn.Module):
    def __init__(self, in_dim=30, hidden=48):
        super().__init__()
        self.gru = nn.GRU(in_dim, hidden, batch_first=True)
        self.dropout = nn.Dropout(0.1)
        self.smax_fc = nn.Linear(hidden, 2)

    def forward(self, u):
        out, _ = self.gru(u)
        return self.smax_fc(self.dropout(out[:, -1]))


def make_data(n):
    y = (torch.rand(n) < 0.0816).long()
    x = torch.randn(n, 6, 30)
    x[:, :, :4] += 0.5 * y.view(-1, 1, 1)
    return x, y


def get_loss_weights(emotion):
    if emotion == "anger":
        return torch.FloatTensor([1 / 0.2128, 1 / 0.7872])
    if emotion == "fear":
        return torch.FloatTensor([1 / 0.0816, 1 / 0.9184])
    raise ValueError(emotion)


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        pred = model(x).argmax(1)
    recall = (pred[y == 1] == 1).float().mean().item()
    specificity = (pred[y == 0] == 0).float().mean().item()
    return (pred == y).float().mean().item(), recall, specificity


x_train, y_train = make_data(2000)
x_test, y_test = make_data(1000)
model = EmotionNet()
loss_function = nn.CrossEntropyLoss(weight=get_loss_weights("fear"))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
for epoch in range(6):
    model.train()
    perm = torch.randperm(2000)
    losses = []
    for i in range(0, 2000, 50):
        idx = perm[i : i + 50]
        optimizer.zero_grad()
        loss = loss_function(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    acc, recall, specificity = evaluate(model, x_test, y_test)
    print(
        f"epoch {epoch}: loss {sum(losses) / len(losses):.4f} acc {acc:.3f} recall {recall:.3f} spec {specificity:.3f}"
    )
