import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


def edge_softmax(scores, index, num_nodes):
    out = (scores - scores.max().detach()).exp()
    total = torch.zeros(num_nodes, scores.size(1)).index_add(0, index, out)
    return out / (total[index] + 1e-16)


class GATConv(nn.Module):
    def __init__(self, in_channels, out_channels, heads=2):
        super().__init__()
        self.heads, self.out_channels = heads, out_channels
        if isinstance(in_channels, int):
            self.lin_l = nn.Linear(in_channels, heads * out_channels, bias=False)
            self.lin_r = self.lin_l
        else:
            self.lin_l = nn.Linear(in_channels[0], heads * out_channels, bias=False)
            self.lin_r = nn.Linear(in_channels[1], heads * out_channels, bias=False)
        self.att_l = nn.Parameter(torch.randn(1, heads, out_channels) * 0.3)
        self.att_r = nn.Parameter(torch.randn(1, heads, out_channels) * 0.3)
        self.bias = nn.Parameter(torch.zeros(heads * out_channels))

    def forward(self, x, edge_index):
        h, c = self.heads, self.out_channels
        if isinstance(x, torch.Tensor):
            x_l = x_r = self.lin_l(x).view(-1, h, c)
            alpha_l = (x_l * self.att_l).sum(dim=-1)
            alpha_r = (x_r * self.att_r).sum(dim=-1)
        else:
            x_l, x_r = self.lin_l(x[0]).view(-1, h, c), self.lin_r(x[1]).view(-1, h, c)
            alpha_l = (x_l * self.att_l).sum(dim=-1)
            alpha_r = (x_r * self.att_r).sum(dim=-1)
        src, dst = edge_index
        alpha = F.leaky_relu(alpha_l[src] + alpha_r[dst], 0.2)
        alpha = edge_softmax(alpha, dst, x_r.size(0))
        out = torch.zeros(x_r.size(0), h, c).index_add(0, dst, x_l[src] * alpha.unsqueeze(-1))
        return out.view(-1, h * c) + self.bias


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GATConv(8, 8)
        self.conv2 = GATConv(16, 8)
        self.lin = nn.Linear(16, 1)

    def forward(self, x, edge_index):
        x = F.elu(self.conv1(x, edge_index))
        x = F.elu(self.conv2(x, edge_index))
        return self.lin(x).squeeze(-1)


def make_graph(n=60, degree=5):
    x = torch.randn(n, 8)
    dst = torch.arange(n).repeat_interleave(degree)
    src = torch.randint(0, n, (n * degree,))
    agree = torch.sigmoid(3 * (x[src, :2] * x[dst, :2]).sum(1))
    y = torch.zeros(n).index_add(0, dst, agree * x[src, 3]) / degree
    loops = torch.arange(n)
    return x, torch.stack([torch.cat([src, loops]), torch.cat([dst, loops])]), y


graphs = [make_graph() for _ in range(16)]
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(24):
    total = 0.0
    for x, edge_index, y in graphs:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x, edge_index), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch}: loss {total / len(graphs):.5f}")
