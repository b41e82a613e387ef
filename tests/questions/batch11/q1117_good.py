import torch
import torch.nn as nn
import torch.nn.functional as F


class ChildSumTreeLSTM(nn.Module):
    def __init__(self, in_dim, mem_dim):
        super().__init__()
        self.mem_dim = mem_dim
        self.ioux = nn.Linear(in_dim, 3 * mem_dim)
        self.iouh = nn.Linear(mem_dim, 3 * mem_dim)
        self.fx = nn.Linear(in_dim, mem_dim)
        self.fh = nn.Linear(mem_dim, mem_dim)

    def node_forward(self, inputs, child_c, child_h):
        i, o, u = (self.ioux(inputs) + self.iouh(child_h.sum(0, keepdim=True))).chunk(3, dim=1)
        f = torch.sigmoid(self.fh(child_h) + self.fx(inputs))
        c = torch.sigmoid(i) * torch.tanh(u) + (f * child_c).sum(0, keepdim=True)
        return c, torch.sigmoid(o) * torch.tanh(c)

    def forward(self, tree, inputs):
        idx, children = tree
        states = [self(ch, inputs) for ch in children]
        if states:
            child_c, child_h = (torch.cat(s) for s in zip(*states))
        else:
            child_c = child_h = inputs.new_zeros(1, self.mem_dim)
        return self.node_forward(inputs[idx : idx + 1], child_c, child_h)


class SimilarityTreeLSTM(nn.Module):
    def __init__(self, vocab_size, in_dim, mem_dim, num_classes, freeze):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, in_dim, padding_idx=0)
        if freeze:
            self.emb.weight.requires_grad = False
        self.childsumtreelstm = ChildSumTreeLSTM(in_dim, mem_dim)
        self.wh = nn.Linear(2 * mem_dim, 24)
        self.wp = nn.Linear(24, num_classes)

    def load_embeddings(self, init_emb):
        with torch.no_grad():
            self.emb.weight.copy_(init_emb)

    def encode(self, tree, tokens):
        return self.childsumtreelstm(tree, self.emb(tokens))[0]

    def forward(self, left, right):
        l, r = self.encode(*left), self.encode(*right)
        h = torch.sigmoid(self.wh(torch.cat([l * r, (l - r).abs()], dim=1)))
        return F.log_softmax(self.wp(h), dim=1)


def sentence(vocab_size):
    tokens = torch.randint(1, vocab_size, (5,))
    return (0, [(1, [(2, [])]), (3, [(4, [])])]), tokens


def main(freeze_embed=False):
    torch.manual_seed(9)
    vocab_size, in_dim = 30, 12
    emb = torch.randn(vocab_size, in_dim)
    emb[0] = 0
    model = SimilarityTreeLSTM(vocab_size, in_dim, 16, 2, freeze_embed)
    model.load_embeddings(emb)
    optimizer = torch.optim.Adagrad([p for p in model.parameters() if p.requires_grad], lr=0.05)
    pairs = [(sentence(vocab_size), sentence(vocab_size)) for _ in range(40)]
    pairs += [(left, left) for left, _ in pairs]
    labels = torch.tensor([0] * 40 + [1] * 40)
    for epoch in range(4):
        total = 0.0
        for i in torch.randperm(len(pairs)).tolist():
            loss = F.nll_loss(model(*pairs[i]), labels[i : i + 1])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / len(pairs):.4f}")


main()
