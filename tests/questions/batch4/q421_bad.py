import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, alpha=0.2, concat=True):
        super().__init__()
        self.out_features = out_features
        self.concat = concat
        self.W = nn.Parameter(torch.empty(in_features, out_features))
        nn.init.xavier_uniform_(self.W, gain=1.414)
        self.a = nn.Parameter(torch.empty(2 * out_features, 1))
        nn.init.xavier_uniform_(self.a, gain=1.414)
        self.leakyrelu = nn.LeakyReLU(alpha)

    def forward(self, inputs, adj):
        h = torch.mm(inputs, self.W)
        left = h @ self.a[: self.out_features]
        right = h @ self.a[self.out_features :]
        e = self.leakyrelu(left + right.t())
        attention = torch.where(adj > 0, e, torch.full_like(e, -9e15))
        attention = F.softmax(attention, dim=1)
        h_prime = torch.mm(attention, h)
        if self.concat:
            return F.elu(h_prime)
        else:
            return h


class GAT(nn.Module):
    def __init__(self, n_feat, n_hid, n_class, n_heads):
        super().__init__()
        self.attentions = nn.ModuleList(
            [GraphAttentionLayer(n_feat, n_hid, concat=True) for _ in range(n_heads)]
        )
        self.out_att = GraphAttentionLayer(n_hid * n_heads, n_class, concat=False)

    def forward(self, x, adj):
        x = torch.cat([att(x, adj) for att in self.attentions], dim=1)
        return F.log_softmax(self.out_att(x, adj), dim=1)


n, classes = 160, 4
labels = torch.arange(n) % classes
same = labels[:, None] == labels[None, :]
adj = (torch.rand(n, n) < torch.where(same, 0.09, 0.012)).float()
adj = ((adj + adj.t() + torch.eye(n)) > 0).float()
features = torch.randn(classes, 16)[labels] * 0.5 + 1.2 * torch.randn(n, 16)
train = torch.rand(n) < 0.3

model = GAT(16, 8, classes, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(60):
    model.train()
    optimizer.zero_grad()
    output = model(features, adj)
    loss = F.nll_loss(output[train], labels[train])
    loss.backward()
    optimizer.step()
    if epoch % 10 == 9:
        model.eval()
        with torch.no_grad():
            accuracy = (model(features, adj).argmax(1) == labels)[~train].float().mean()
        print(f"epoch {epoch}: loss {loss.item():.4f}, test accuracy {accuracy:.3f}")
