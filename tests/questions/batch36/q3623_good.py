import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
NETWORK_WIDTH = 32
data = torch.randn(400, 10)
target = ((data[:, 0] * data[:, 1] + data[:, 2]) > 0).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden1 = nn.Linear(10, NETWORK_WIDTH)
        self.hidden2 = nn.Linear(NETWORK_WIDTH, NETWORK_WIDTH)
        self.outputs = nn.Linear(NETWORK_WIDTH, 1)

    def forward(self, x):
        x = F.relu(self.hidden1(x))
        x = F.relu(self.hidden2(x))
        x = self.outputs(x)
        return torch.sigmoid(x)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
criterion = nn.BCELoss()
labels = target.float().unsqueeze(1)
for epoch in range(60):
    optimizer.zero_grad()
    net_out = net(data)
    loss = criterion(net_out, labels)
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f}")

with torch.no_grad():
    pred = (net(data).squeeze(1) > 0.5).long()
print(f"accuracy {(pred == target).float().mean().item():.3f}")
