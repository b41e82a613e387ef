import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

WORDS, CLASSES, SEQ = 40, 8, 12


class QuestionEncoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(WORDS, dim)
        self.tag = nn.Embedding(2, dim)
        self.project = nn.Linear(dim, dim)
        self.attn = nn.Linear(2 * dim, 1)
        self.hidden = nn.Linear(dim, 64)
        self.out = nn.Linear(64, CLASSES)

    def forward(self, text, tags):
        x = self.tag(tags)
        outputs = self.project(self.embed(text))
        attn_weights = F.softmax(self.attn(torch.cat((x, outputs), 2)), dim=0)
        attn_applied = (attn_weights * outputs).sum(dim=0)
        return self.out(F.relu(self.hidden(attn_applied))), attn_weights


def make_questions(n):
    text = torch.randint(0, WORDS, (SEQ, n))
    tags = torch.zeros(SEQ, n, dtype=torch.long)
    entity = torch.randint(0, SEQ, (n,))
    tags[entity, torch.arange(n)] = 1
    return text, tags, text[entity, torch.arange(n)] % CLASSES


def main():
    model = QuestionEncoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    test = make_questions(1000)
    for step in range(1, 601):
        text, tags, label = make_questions(64)
        logits, _ = model(text, tags)
        loss = F.cross_entropy(logits, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 150 == 0:
            with torch.no_grad():
                logits, weights = model(test[0], test[1])
            accuracy = (logits.argmax(1) == test[2]).float().mean().item()
            print(f"step {step}: loss {loss.item():.3f} test accuracy {accuracy:.3f}")
    print("weights of the first question:", [round(w, 3) for w in weights[:, 0, 0].tolist()])


if __name__ == "__main__":
    main()
